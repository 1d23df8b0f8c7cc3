"""Whether a package may be trained on: permissive licences only, and what was refused says why.

Asked in this order: the SPDX expression, then the License field and the classifiers together, then the
licence's text. A copyleft, non-commercial or source-available licence named anywhere in what is asked
refuses, unless an SPDX expression offers a permissive one to choose instead.
"""

from __future__ import annotations

import re
from email import message_from_string
from typing import NamedTuple

_REFUSED = re.compile(
    r"\b[AL]?GPL|GNU (Affero|General|Lesser|Library)|Affero|BY-NC|BY-SA|BY-ND|Proprietary|BUSL|Business Source|SSPL"
    r"|Server Side Public|Elastic[- ]License|Commons Clause|EUPL|CeCILL|non-?commercial|Eclipse Public|\bEPL-|CDDL"
    r"|Sleepycat|Reciprocal|\bOSL-|Common Public|Fair Source|FSL-|PolyForm|All rights reserved",
    re.IGNORECASE,
)
_NAMED = (
    ("Apache-2.0", r"Apache"),
    ("MIT", r"\bMIT\b|Expat|MIT-0|MIT-CMU"),
    ("BSD", r"\bBSD|0BSD|3-clause|2-clause"),
    ("MPL-2.0", r"\bMPL|Mozilla Public"),
    ("PSF", r"\bPSF|Python Software Foundation|Python-2\.0|CNRI"),
    ("ISC", r"\bISCL?\b"),
    ("Unlicense/PD", r"Unlicense|Public Domain|CC0"),
    ("Zlib", r"\bzlib"),
    ("ZPL", r"\bZPL|Zope Public"),
    ("HPND", r"HPND|Historical Permission"),
    ("BSL-1.0", r"BSL-1|Boost"),
    ("NCSA", r"NCSA"),
    ("UPL", r"\bUPL|Universal Permissive"),
)
_WORDED = (
    ("Apache-2.0", r"Apache License,? Version 2|Licensed under the Apache License"),
    ("MIT", r"Permission is hereby granted, free of charge"),
    ("BSD", r"Redistribution and use in source and binary forms"),
    ("MPL-2.0", r"Mozilla Public License"),
    ("ISC", r"Permission to use, copy, modify, and(/or)? distribute this software"),
    ("Unlicense/PD", r"free and unencumbered software|CC0 1\.0 Universal"),
    ("PSF", r"PYTHON SOFTWARE FOUNDATION LICENSE"),
    ("ZPL", r"Zope Public License"),
)
_REFUSED_TEXT = re.compile(
    r"GNU (AFFERO |LESSER |LIBRARY )?GENERAL PUBLIC LICENSE|GNU LESSER|Business Source|Commons Clause"
    r"|Elastic License|PolyForm|non-?commercial",
    re.IGNORECASE,
)
_SHORT = 150  # a License field longer than this is the licence's text


class Verdict(NamedTuple):
    """The licence, empty if the package is refused, and what that was read from or refused for."""

    licence: str
    why: str


def judge(metadata: str, licences: str = "") -> Verdict:
    """The verdict on a package, from its metadata and the texts of its licence files."""
    head = message_from_string(metadata)
    expression = str(head.get("License-Expression", "")).strip()
    if expression:
        return _spdx(expression)
    fields = [str(value).strip() for value in head.get_all("License", [])]
    fields = [value for value in fields if value and value.upper() != "UNKNOWN"]
    classified = [str(c).removeprefix("License :: ") for c in head.get_all("Classifier", []) if "License ::" in str(c)]
    said = " | ".join([v for v in fields if len(v) <= _SHORT] + [c for c in classified if c != "OSI Approved"])
    if _REFUSED.search(said):
        return Verdict("", f"refused: {said[:80]}")
    for name, pattern in _NAMED:
        if re.search(pattern, said, re.IGNORECASE):
            return Verdict(name, "metadata")
    text = re.sub(r"\s+", " ", "\n".join([*(v for v in fields if len(v) > _SHORT), licences]))
    if _REFUSED_TEXT.search(text):
        return Verdict("", "refused: the licence's text")
    for name, pattern in _WORDED:
        if re.search(pattern, text, re.IGNORECASE):
            return Verdict(name, "text")
    return Verdict("", f"unknown: {said[:80]}")


def _spdx(expression: str) -> Verdict:
    """An SPDX expression: each part joined by AND needs one permissive choice among those joined by OR."""
    flat = expression.replace("(", " ").replace(")", " ")
    for part in re.split(r"\s+AND\s+", flat):
        choices = re.split(r"\s+OR\s+", part)
        if not any(_permissive(choice) for choice in choices):
            return Verdict("", f"refused: {expression[:80]}")
    return Verdict(expression[:80], "expression")


def _permissive(choice: str) -> bool:
    return not _REFUSED.search(choice) and any(re.search(pattern, choice, re.IGNORECASE) for _, pattern in _NAMED)
