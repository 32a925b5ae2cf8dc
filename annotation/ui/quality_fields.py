"""The fields of the tab Quality: settings, files of pairs with known grades, and the correction of one."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from annotation.quality import QualitySettings
from annotation.ui.answer import answer_place
from annotation.ui.kept_form import KeptForm, build_kept_form
from annotation.ui.number_fields import decimal_field, decimal_of, decimal_text, whole_field, whole_of
from kpdemo.ui.widgets import section_heading

KINDS = {"training": "training pair", "checks": "check pair"}
_COLUMNS = "TSV, CSV or JSON Lines with <code>id, type, left, right, grade</code>, the known grade"
FIELDS = {
    "training": f"{_COLUMNS}, and, if you wish, <code>explanation</code>, which raters see after grading.",
    "checks": f"{_COLUMNS}.",
}
CORRECTING_SAYS = (
    "A corrected grade applies to unfinished attempts and to all grades of a check pair, including earlier "
    "ones. Finished attempts keep their result."
)


@dataclass(frozen=True)
class Upload:
    file: gr.File
    run: gr.Button
    result: gr.HTML


def upload_box(kind: str) -> Upload:
    file = gr.File(
        label=f"A file of {KINDS[kind]}s",
        type="filepath",
        height=120,
        elem_id=f"quality-{kind}-file",
    )
    gr.HTML(f'<p class="small">{FIELDS[kind]}</p>', elem_id=f"quality-{kind}-fields")
    run = gr.Button(f"Import {KINDS[kind]}s", elem_id=f"quality-{kind}-run")
    return Upload(file, run, answer_place(f"quality-{kind}-result"))


@dataclass(frozen=True)
class KnownFields:
    none: gr.HTML
    """Stands in place of the form while there is no pair."""
    form: gr.Column
    kept: KeptForm
    pair: gr.Dropdown
    texts: gr.HTML
    grade: gr.Textbox
    run: gr.Button
    said: gr.HTML


def known_fields() -> KnownFields:
    section_heading("Known grades", "quality-known-heading")
    none = gr.HTML("", elem_id="quality-known-none")
    with gr.Column(visible=False, elem_id="quality-known-form") as form:
        gr.HTML(f'<p class="small">{CORRECTING_SAYS}</p>', elem_id="quality-known-says")
        kept = build_kept_form("quality-known")
        with gr.Row(elem_classes="form-row"):
            pair = gr.Dropdown(
                [],
                label="Training or check pair",
                allow_custom_value=True,
                elem_id="quality-known",
                scale=5,
            )
            grade = decimal_field(None, label="Known grade", elem_id="quality-known-grade", scale=1)
            run = gr.Button("Set this grade", elem_id="quality-known-set", scale=1, min_width=160)
        texts = gr.HTML("", elem_id="quality-known-texts", js_on_load=None)
        said = answer_place("quality-known-said")
    return KnownFields(none, form, kept, pair, texts, grade, run, said)


def training_fields() -> tuple[gr.Number, gr.Textbox]:
    default = QualitySettings()
    with gr.Row():
        pass_mark = whole_field(
            default.pass_percent,
            label="Pass mark, %",
            info="Share of grades that must be close",
            elem_id="quality-pass-mark",
        )
        distance = decimal_field(
            default.training_distance,
            label="Counts as close within",
            info="Points from the known grade",
            elem_id="quality-training-distance",
        )
    return pass_mark, distance


def check_fields() -> tuple[gr.Number, gr.Textbox]:
    default = QualitySettings()
    with gr.Row():
        every = whole_field(
            default.check_every,
            label="One pair in",
            info="20 means one pair in 20; 0 means none",
            elem_id="quality-check-every",
        )
        distance = decimal_field(
            default.check_distance,
            label="Counts as accepted within",
            info="Points from the known grade",
            elem_id="quality-check-distance",
        )
    return every, distance


def quality_values(settings: QualitySettings) -> tuple[int | str, ...]:
    """What the fields show, in the order of `read_quality_form`."""
    return (
        settings.pass_percent,
        decimal_text(settings.training_distance),
        settings.check_every,
        decimal_text(settings.check_distance),
    )


def read_quality_form(
    pass_mark: object, training_distance: object, check_every: object, check_distance: object
) -> QualitySettings:
    """The settings that the fields hold.

    Raises:
        SettingsError: a field holds no number.
    """
    return QualitySettings(
        training_distance=decimal_of(training_distance, "accepted distance of training grades"),
        pass_percent=whole_of(pass_mark, "pass mark"),
        check_every=whole_of(check_every, "number of pairs for one check"),
        check_distance=decimal_of(check_distance, "accepted distance of check grades"),
    )
