"""Language codes of mp4 and mov: the three letters of ISO 639-2."""

from __future__ import annotations

_TWO = (
    "aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak "
    "be:bel bg:bul bh:bih bi:bis bm:bam bn:ben bo:tib br:bre bs:bos ca:cat ce:che ch:cha co:cos "
    "cr:cre cs:cze cu:chu cv:chv cy:wel da:dan de:ger dv:div dz:dzo ee:ewe el:gre en:eng eo:epo "
    "es:spa et:est eu:baq fa:per ff:ful fi:fin fj:fij fo:fao fr:fre fy:fry ga:gle gd:gla gl:glg "
    "gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:arm hz:her ia:ina "
    "id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido is:ice it:ita iu:iku ja:jpn jv:jav ka:geo kg:kon "
    "ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir "
    "la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mao mk:mac "
    "ml:mal mn:mon mr:mar ms:may mt:mlt my:bur na:nau nb:nob nd:nde ne:nep ng:ndo nl:dut nn:nno "
    "no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus "
    "pt:por qu:que rm:roh rn:run ro:rum ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag si:sin "
    "sk:slo sl:slv sm:smo sn:sna so:som sq:alb sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam "
    "te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah "
    "ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha "
    "zh:chi zu:zul"
)
_TERMS = (
    "bod:tib ces:cze cym:wel deu:ger ell:gre eus:baq fas:per fra:fre hye:arm isl:ice kat:geo "
    "mkd:mac mri:mao msa:may mya:bur nld:dut ron:rum slk:slo sqi:alb zho:chi"
)
"""Terminological codes that differ from the bibliographic ones; FFmpeg's mov knows the latter."""

_SHORT = dict(pair.split(":") for pair in _TWO.split())
_OTHER = dict(pair.split(":") for pair in _TERMS.split())


def language_code(language: str, muxer: str) -> str:
    """Return the language code that `muxer` writes: 'pt-BR' is 'por' in mp4."""
    if muxer not in ("mp4", "mov"):
        return language
    main = language.replace("_", "-").partition("-")[0].lower()
    main = _SHORT.get(main, main)
    return _OTHER.get(main, main) if muxer == "mov" else main
