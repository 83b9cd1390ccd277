"""Settings: the order of the layers, kinds, places in a file, merging."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.options import Options
from triage.settings import KINDS, parse_pairs, resolve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_without_anything_the_defaults_hold(folder):
    settings = resolve({}, {}, folder)
    assert settings.options() == Options()
    assert {found.origin for found in settings.values.values()} == {"default"}


def test_each_layer_wins_over_the_one_below(folder):
    (folder / "triage.toml").write_text('window = 10\nsensitivity = "low"\nfail-on = "any"\n', encoding="utf-8")
    env = {"TRIAGE_WINDOW": "20", "TRIAGE_FAIL_ON": "never"}
    settings = resolve({"window": 30, "segment": None}, env, folder)
    assert (settings["window"], settings["fail-on"], settings["sensitivity"]) == (30, "never", "low")
    assert settings.options().window == 30


def test_tables_are_merged_over_the_layers(folder):
    (folder / "triage.toml").write_text('[map]\nloss = "a"\nlr = "b"\n', encoding="utf-8")
    settings = resolve({"map": {"loss": "flag"}}, {"TRIAGE_MAP": "lr=env,grad_norm=g"}, folder)
    assert settings.options().mapping == {"loss": "flag", "lr": "env", "grad_norm": "g"}


def test_the_nearest_file_counts_and_the_search_ends_at_the_repository(folder):
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    (folder / "triage.toml").write_text("window = 10\n", encoding="utf-8")
    assert resolve({}, {}, inner)["window"] == 10
    (folder / "a" / ".git").mkdir()
    assert resolve({}, {}, inner)["window"] is None


def test_pyproject_counts_where_it_has_a_table(folder):
    text = (
        '[project]\nname = "x"\n[tool.other]\nwindow = 1\n[tool.triage]\nwindow = 12\n[tool.triage.limits]\ndepth = 4\n'
    )
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    settings = resolve({}, {}, folder)
    assert settings.values["window"].origin.endswith("pyproject.toml:6")
    assert settings.options().limits.depth == 4
    (folder / "triage.toml").write_text("window = 13\n", encoding="utf-8")
    assert resolve({}, {}, folder)["window"] == 13


def test_underscores_are_taken_too(folder):
    (folder / "triage.toml").write_text("max_incidents = 5\n[limits]\nline_bytes = 99\n", encoding="utf-8")
    options = resolve({}, {}, folder).options()
    assert options.max_incidents == 5
    assert options.limits.line_bytes == 99


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("window = \n", "broken TOML", "line"),
        ('\n\nwindow = "ten"\n', "line 3: window is 'ten'", "a whole number"),
        ("window = true\n", "line 1: window is True", "a whole number"),
        ('fail-on = "often"\n', "line 1: fail-on is 'often'", "one of never"),
        ("sensitivty = 'low'\n", "line 1: there is no setting 'sensitivty'", "did you mean 'sensitivity'?"),
        ("quux = 1\n", "line 1: there is no setting 'quux'", "known settings"),
        ("[map]\nloss = 3\n", "line 1: map is", "a table of names"),
        ("[limits]\ndephth = 3\n", "line 2: there is no setting 'limits.dephth'", "limits.depth"),
        ("limits = 3\n", "there is no setting 'limits'", "did you mean"),
    ],
)
def test_a_broken_file_names_line_and_key(folder, text, message, hint):
    (folder / "triage.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        resolve({}, {}, folder)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "") or hint in caught.value.message
    assert caught.value.path == str(folder / "triage.toml")


def test_a_value_out_of_bounds_names_its_origin(folder):
    (folder / "triage.toml").write_text("\nwindow = 3\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        resolve({}, {}, folder).options()
    assert caught.value.path == f"{folder / 'triage.toml'}:2"


def test_a_file_that_is_no_text(folder):
    (folder / "triage.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        resolve({}, {}, folder)


@pytest.mark.parametrize("name", KINDS)
def test_every_setting_has_a_variable(folder, name):
    variable = "TRIAGE_" + name.replace("-", "_").replace(".", "_").upper()
    texts = ("17", "true", "loss=a", "up", "any", "low", "zh", "short", "last", "never")
    taken = 0
    for text in texts:
        try:
            found = resolve({}, {variable: text}, folder).values[name]
        except UsageError as error:
            assert variable in error.message  # noqa: PT017 - both ways out are checked
            continue
        assert found.origin == f"environment ({variable})"
        taken += 1
    assert taken
    assert resolve({}, {variable: ""}, folder).values[name].origin == "default"


def test_pairs():
    assert parse_pairs("loss=a, lr = b ,") == {"loss": "a", "lr": "b"}
    assert parse_pairs("loss=a=b") == {"loss": "a=b"}
    with pytest.raises(ValueError, match="loss"):
        parse_pairs("loss")
