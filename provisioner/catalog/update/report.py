"""What came of an update, for programs and for people."""

from __future__ import annotations

from typing import Any, NamedTuple

from provisioner.errors import OK, WRONG


class Asked(NamedTuple):
    """A source and how it answered."""

    id: str
    where: str
    state: str  # ok | offline | broken
    because: str


class Report(NamedTuple):
    """See `provisioner.catalog.update`."""

    version: str
    date: str
    age: int  # days since the shipped catalogue's date
    check: bool
    asked: tuple[Asked, ...]
    new: tuple[tuple[str, str, Any], ...]  # (source, table, row) of the overlay as it is, or would be
    fresh: tuple[tuple[str, str, Any], ...]  # those that the last update did not have
    refused: tuple[tuple[str, str], ...]  # (what, the finding against it)
    notes: tuple[str, ...]
    written: str  # path of the overlay, "" when nothing was written
    last: str  # date of the update before, "" when there was none

    @property
    def status(self) -> int:
        """0: every source answered, and with `check` has nothing new. 4 otherwise."""
        if any(each.state != "ok" for each in self.asked) or self.refused or (self.check and self.fresh):
            return WRONG
        return OK

    def document(self) -> dict[str, Any]:
        """As JSON."""
        from provisioner.catalog.lint.engine import key_of

        def told(rows: tuple[tuple[str, str, Any], ...]) -> list[dict[str, str]]:
            return [{"source": source, "table": table, "row": " ".join(str(part) for part in key_of(table, row) if part)}
                    for source, table, row in rows]

        return {"catalog": {"version": self.version, "date": self.date, "age_days": self.age}, "check": self.check,
                "last_update": self.last or None, "sources": [each._asdict() for each in self.asked], "new": told(self.fresh),
                "overlay_rows": len(self.new), "refused": [{"what": what, "because": text} for what, text in self.refused],
                "notes": list(self.notes), "written": self.written or None}

    def text(self, lang: str = "en") -> str:
        """In words, ending in a line break."""
        chinese = lang == "zh"

        def say(english: str, other: str) -> str:
            return other if chinese else english

        out = [say(f"catalogue {self.version}, {self.age} day{'' if self.age == 1 else 's'} old; last update: {self.last or 'never'}",
                   f"目录 {self.version},已有 {self.age} 天;上次更新:{self.last or '从未'}")]
        states = {"ok": say("answered", "已应答"), "offline": say("out of reach", "无法连接"), "broken": say("no good answer", "应答无效")}
        out += [f"  {each.where or each.id}: {states[each.state]}" + (f" ({each.because})" if each.because else "") for each in self.asked]
        if all(each.state == "offline" for each in self.asked):
            out.append(say("This machine is offline; the catalogue stays as it is.", "此机器处于离线状态;目录保持不变。"))
        by_table: dict[str, list[str]] = {}
        for _, table, row in self.fresh:
            by_table.setdefault(table, []).append(str(row[1] if table in ("companions", "components") else row[0]))
        if by_table:
            out.append(say("New:", "新增:"))
            out += [f"  {table}: {len(rows)} ({', '.join(list(dict.fromkeys(rows))[-6:])})" for table, rows in by_table.items()]
        elif any(each.state == "ok" for each in self.asked):
            out.append(say("Nothing new.", "没有新内容。"))
        out += [say(f"left out: {what}: {text}", f"未采用:{what}:{text}") for what, text in self.refused]
        out += [say(f"note: {text}", f"注意:{text}") for text in self.notes]
        if self.written:
            out.append(say(f"wrote {self.written}", f"已写入 {self.written}"))
        elif self.check and self.fresh:
            out.append(say("run `provision update` to take this up", "运行 `provision update` 以采用这些内容"))
        return "\n".join(out) + "\n"
