"""The look of every page: Gradio's base theme with our tokens, one stylesheet, one script."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
from gradio.themes import Base, colors, sizes

ASSETS = Path(__file__).parent.parent / "assets"
STYLE = ASSETS / "style.css"
MEDIA = ASSETS / "media.css"
"""For the head of a page: in @media, Gradio makes other selectors of those of its own style sheets."""
SCRIPTS = tuple(ASSETS / f"{name}.js" for name in ("page", "focus", "reader", "charts"))

SYSTEM_FONTS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
SYSTEM_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "monospace")


def build_theme() -> gr.themes.Base:
    """Slate greys, indigo for what can be pressed, radius 6 px, fonts of the system."""
    return Base(
        primary_hue=colors.indigo,
        secondary_hue=colors.slate,
        neutral_hue=colors.slate,
        radius_size=sizes.Size("6px", "6px", "6px", "6px", "6px", "6px", "6px", name="kpdemo"),
        spacing_size=sizes.spacing_md,
        text_size=sizes.text_md,
        font=SYSTEM_FONTS,
        font_mono=SYSTEM_MONO,
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="*neutral_900",
        body_text_color_dark="*neutral_100",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        color_accent="*primary_600",
        background_fill_primary="white",
        background_fill_primary_dark="*neutral_900",
        block_background_fill="white",
        block_background_fill_dark="*neutral_900",
        block_border_color="*neutral_200",
        block_border_color_dark="*neutral_700",
        block_label_text_color="*neutral_700",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_300",
        block_title_text_weight="600",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_400",
        block_shadow="none",
        input_background_fill="white",
        input_background_fill_dark="*neutral_950",
        input_border_color="*neutral_400",
        input_border_color_dark="*neutral_500",
        input_border_color_focus="*primary_600",
        input_border_color_focus_dark="*primary_400",
        input_border_width="1px",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        checkbox_border_color="*neutral_500",
        checkbox_border_color_dark="*neutral_400",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover_dark="*primary_700",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
        button_secondary_background_fill="white",
        button_secondary_background_fill_hover="*primary_50",  # grey looks as if it could not be pressed
        button_secondary_background_fill_dark="*neutral_800",
        button_secondary_background_fill_hover_dark="*neutral_700",
        button_secondary_border_color="*neutral_400",
        button_secondary_border_color_dark="*neutral_500",
        button_border_width="1px",
        button_transition="none",
        error_text_color="#b91c1c",
        error_text_color_dark="#fecaca",
        slider_color="*primary_600",
        slider_color_dark="*primary_400",
        link_text_color="*primary_700",
        link_text_color_dark="*primary_300",
    )


def head(*more: Path) -> str:
    """The scripts of every page, and more after them, for its head."""
    scripts = [path.read_text(encoding="utf-8") for path in (*SCRIPTS, *more)]
    style = (
        f'<meta name="color-scheme" content="light dark"><style>{MEDIA.read_text(encoding="utf-8")}</style>'
    )
    return style + "".join(f"<script>{script}</script>" for script in scripts)
