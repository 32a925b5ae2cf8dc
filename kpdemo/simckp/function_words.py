"""English words that say nothing of a subject by themselves."""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those such same other another each every either neither both all any some no none
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs one ones
    myself ourselves yourself himself herself itself themselves who whom whose which what when where why how
    and or but nor so yet if then else than as because since while whereas although though unless
    until whether about above across after against along among amongst around at before behind below beneath
    beside besides between beyond by down during except for from in inside into near of off on onto out
    outside over per through throughout to toward towards under up upon via with within without
    am is are was were be been being do does did done doing has have had having can could may might must shall
    should will would cannot
    not only also too very more most less least much many few several here there thus hence therefore however
    moreover furthermore again once now just even still already often always never ever rather quite well etc
    """.split()  # noqa: SIM905
)
