"""Did it work: a payload that runs on the target and a judge that holds its answer against the lock."""
