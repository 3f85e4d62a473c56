"""Where an export came from, how to cite it, and what its data's licence asks for."""

from __future__ import annotations

from trnn_core import __version__
from trnn_core.export.material import Material

SOFTWARE = "TRNN Studio: relational network forecasting with tensorial recurrent networks"
SIMULATED = "SIMULATED data: these events never happened."

PAPER_BIBTEX = """@article{bai2017tensorial,
  title         = {Tensorial Recurrent Neural Networks for Longitudinal Data Analysis},
  author        = {Bai, Mingyuan and Zhang, Boyan and Gao, Junbin},
  journal       = {arXiv preprint},
  year          = {2017},
  eprint        = {1708.00185},
  archivePrefix = {arXiv}
}"""


def software_bibtex(year: str) -> str:
    return f"""@software{{trnn_studio,
  title   = {{{SOFTWARE}}},
  author  = {{{{The TRNN Studio authors}}}},
  version = {{{__version__}}},
  year    = {{{year}}},
  note    = {{Open-source software under the MIT licence}}
}}"""


def bibtex(material: Material) -> str:
    """The paper whose method this is, and this software."""
    return f"{PAPER_BIBTEX}\n\n{software_bibtex(material.made[:4])}\n"


def licence_note(material: Material) -> str:
    """What the reader may do with the data, as far as it is known."""
    return licence_words(material.simulated, material.series.source.licence)


def licence_words(simulated: bool, licence: str) -> str:
    if simulated:
        return "Simulated data: free to pass on, as long as it stays marked as simulated."
    if licence.strip():
        return (
            f"Licence of the data: {licence.strip().rstrip('.')}. Observe it before passing on figures or tables made"
            " from the data."
        )
    return (
        "The licence of the data was not recorded; look up the terms of its source before passing this on (ICEWS, for"
        " example, is for research and education only)."
    )


def provenance(material: Material) -> list[str]:
    """Facts that travel with every export, a sentence each."""
    series, data = material.series, material.run.config["data"]
    facts = [SIMULATED] if material.simulated else []
    facts += [
        (
            f"Data: {material.title} ({len(series.actors)} actors, {len(series.actions)} actions, {len(series):,}"
            f" {series.period}s, {series.dates[0]} to {series.dates[-1]})."
        ),
        f"Fingerprint of the data (SHA-256): {data['fingerprint']}.",
        licence_note(material),
        (
            f"Run: {material.run.name} ({material.run.run_id}), made {material.run.config['created'][:10]}; exported"
            f" {material.made} by TRNN Studio {__version__}."
        ),
    ]
    return facts


def one_line(material: Material) -> str:
    """For captions, footers and file properties."""
    mark = "SIMULATED data. " if material.simulated else ""
    return f"{mark}Data: {material.title}. Run: {material.run.run_id}. {licence_note(material)}"


def about_text(material: Material) -> str:
    """The file ABOUT.txt that lies beside exported tables and networks."""
    facts = "\n".join(f"- {fact}" for fact in provenance(material))
    intervals = material.forecast.meta.get("intervals", "")
    return (
        f"{SOFTWARE}\n\nWhere these files came from\n{facts}\n\n"
        f"The forecast\n- {material.forecast.meta.get('model', '')}\n- {intervals}\n\nPlease cite\n\n{bibtex(material)}"
    )
