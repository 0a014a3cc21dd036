"""Our quick reading of versions and ranges says what `packaging` says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from provisioner.versions import Range, key, minor, number, sort_key

_number = st.integers(0, 30).map(str)
_dotted = st.lists(_number, min_size=1, max_size=4).map(".".join)
_version = st.one_of(_dotted, st.tuples(_dotted, st.sampled_from([".post1", "rc1", ".dev0", "+cu128"])).map("".join))
_clause = st.tuples(st.sampled_from(["==", "!=", ">=", "<=", ">", "<", "~=", "===", "= "]), st.one_of(_dotted, _version),
                    st.sampled_from(["", "", "", ".*"])).map("".join)
_ranges = st.lists(_clause, min_size=1, max_size=3).map(",".join)


@settings(max_examples=4000, deadline=None)
@given(_ranges, _version)
def test_ranges_agree_with_packaging(text: str, version: str) -> None:
    try:
        wanted = SpecifierSet(text, prereleases=True)
    except InvalidSpecifier:
        with pytest.raises(ValueError):
            Range(text)
        return
    assert (version in Range(text)) == wanted.contains(version), (text, version)


@settings(max_examples=1000, deadline=None)
@given(st.lists(_version, min_size=2, max_size=6))
def test_sorting_agrees_with_packaging(versions: list[str]) -> None:
    ours = [Version(each) for each in sorted(versions, key=sort_key)]
    assert all(one <= two or one.public == two.public for one, two in pairwise(ours))


def test_the_vendors_spelling_compares_by_number() -> None:
    assert key("450.80.02") == key("450.80.2")
    assert key("535.54.03") < key("535.129.03")


@pytest.mark.parametrize("text", ["2.7.1", "*", "", "~=2.5.0", "==2.6.*"])
def test_plain_ranges(text: str) -> None:
    Range(text)


@pytest.mark.parametrize("text", ["x", "not a range", "==", "2.7.x", "=2"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ValueError):
        Range(text)


def test_lenient_numbers_count_other_parts_as_nought() -> None:
    """Repository spellings such as 2.26.2.post1 still have to sort beside plain ones."""
    assert number("2.26.2.post1") == (2, 26, 2, 0)
    assert number("2.26.2") == key("2.26.2")
    assert number("2.26.2") <= number("2.26.2.post1") < number("2.26.3")


def test_the_minor_of_a_release() -> None:
    assert [minor(each) for each in ("12.8.1", "13.0", "10.1.168")] == ["12.8", "13.0", "10.1"]
