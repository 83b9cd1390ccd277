"""Which language is spoken: --lang over TRIAGE_LANG over the file over the locale."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("argv", "env", "word"),
    [
        ((), {}, "recovered"),
        ((), {"LANG": "zh_CN.UTF-8"}, "已恢复"),
        ((), {"LC_MESSAGES": "zh_TW", "LANG": "en_US.UTF-8"}, "已恢复"),
        ((), {"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, "recovered"),
        ((), {"LANG": "de_DE.UTF-8"}, "recovered"),
        ((), {"LANG": "zh_CN.UTF-8", "TRIAGE_LANG": "en"}, "recovered"),
        ((), {"TRIAGE_LANG": "zh"}, "已恢复"),
        (("--lang", "en"), {"TRIAGE_LANG": "zh"}, "recovered"),
        (("--lang", "zh"), {}, "已恢复"),
    ],
)
def test_language(cli, pipeline, argv, env, word):
    assert word in cli("analyze", "x.jsonl", *argv, env=env).out
