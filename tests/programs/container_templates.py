"""Expressions and statements over containers, with holes: <T> an expression of the type, <T!> a variable, <T=> a variable that is assigned,
<1> what stands in the first hole, <K> a key, <c> a small number, <flag> an input that is 0 or 1. In front: how likely."""
import re

TYPES = {
    "T": "Tensor", "I": "int", "F": "float", "S": "str",
    "LT": "List[Tensor]", "LI": "List[int]", "LF": "List[float]", "LP": "List[Tuple[Tensor, int]]", "LL": "List[List[Tensor]]", "LD": "List[Dict[str, Tensor]]",
    "DT": "Dict[str, Tensor]", "DN": "Dict[int, Tensor]", "DL": "Dict[str, List[Tensor]]", "DI": "Dict[str, int]",
    "OT": "Optional[Tensor]", "OI": "Optional[int]", "OP": "Optional[Tuple[Tensor, int]]", "OL": "Optional[List[Tensor]]", "OD": "Optional[Dict[str, Tensor]]",
    "P": "Tuple[Tensor, int]", "TL": "Tuple[List[Tensor], Tensor]", "R": "Row", "B": "Box", "M": "Meter", "H": "Holder", "LB": "List[Box]", "DB": "Dict[str, Box]",
    "LN": "List[List[int]]", "Q": "Tuple[List[int], int]", "LQ": "List[Tuple[List[int], int]]", "LE": "List[Dict[str, int]]", "J": "Count",
    "LJ": "List[Count]", "DK": "Dict[int, int]", "DM": "Dict[int, List[int]]",
}
REFINED = {"OT": "T", "OI": "I", "OP": "P", "OL": "LT", "OD": "DT"}
# What there is an instance of without anything else.
BASE = {
    "T": "x.sum(0)", "I": "1", "F": "0.5", "LT": "[x.sum(0)]", "LI": "[2]", "LF": "[0.5]", "LP": "[(x.sum(0), 2)]", "LL": "[[x.sum(0)]]",
    "LD": '[{"a": x.sum(0)}]', "DT": '{"a": x.sum(0)}', "DN": "{0: x.sum(0)}", "DL": '{"a": [x.sum(0)]}', "DI": '{"a": 1}', "OT": "None",
    "OI": "None", "OP": "None", "OL": "None", "OD": "None", "P": "(x.sum(0), 1)", "TL": "([x.sum(0)], x.sum(0))",
    "R": "Row(x.sum(0), 1, [x.sum(0)])", "B": "Box(x.sum(0), 1)", "M": "Meter(x.sum(0))", "H": "Holder(Box(x.sum(0), 1))",
    "LB": "[Box(x.sum(0), 1)]", "DB": '{"a": Box(x.sum(0), 1)}',
    "LN": "[[3]]", "Q": "([3], 1)", "LQ": "[([3], 1)]", "LE": '[{"a": 1}]', "J": "Count(3)", "LJ": "[Count(3)]", "DK": "{1: 2}", "DM": "{1: [2]}",
}
# What isn't the same object as anything else: an empty one, a copy.
EXPRESSIONS = """
T: 8 <T!>; 2 x.sum(0); 6 x[<X!>]; 1 torch.zeros(2); 4 <T> + <c>; 2 <T> * 2; 3 <T> + <T>; 2 <T> - <T>; 1 torch.maximum(<T>, <T>); 4 <LT!>[0]
T: 3 <LT!>[-1]; 2 <LT!>[1]; 1 <LT!>[-2]; 1 <LT!>[<I!>]
T: 2 <LT!>[<I!> % len(<1>)]; 1 <LT!>[int(<flag>)]; 4 <DT!>[<K>]; 2 <DT!>.get(<K>, <T>); 2 <DN!>[<c>]; 1 <DN!>[<I!>]; 2 <DL!>[<K>][0]
T: 1 <DL!>[<K>][-1]; 2 <LP!>[0][0]; 1 <LP!>[-1][0]; 2 <LL!>[0][-1]; 1 <LL!>[-1][0]
T: 2 <LD!>[0][<K>]; 2 <B!>.v; 1 <B!>.get(); 1 <B!>.last(); 1 <B!>.l[-1]; 2 <R!>.v; 1 <R!>.l[0]; 2 <P!>[0]; 1 <TL!>[1]; 1 <TL!>[0][-1]
T: 1 <M!>.mean(); 1 <M!>.d["m"]; 1 <H!>.b.v; 1 <H!>.l[-1].v; 2 present(<OT!>)
T: 3 (<T> if <C> else <T>); 2 total(<LT!>); 1 torch.stack(<LT!>).sum(0); 2 <T> * <I!>; 1 <T> + <F!>; 1 <LB!>[0].v; 1 <LB!>[-1].get(); 2 <DB!>[<K>].v
I: 5 <c>; 6 <I!>; 3 len(<LT!>); 2 len(<DT!>); 1 len(<DL!>[<K>]); 2 len(<LI!>); 1 len(<LL!>); 2 x.size(0); 2 int(<flag>); 2 <B!>.n
I: 3 <LI!>[0]; 2 <LI!>[-1]; 1 <LI!>[<I!> % len(<1>)]; 1 <LI!>[<I!>]; 3 <I> + 1; 2 <I> % 3; 1 <I> * 2
I: 1 min(<I>, <I>); 1 max(<I>, 1); 1 sum(<LI!>); 1 <LP!>[-1][1]; 2 <P!>[1]; 1 <R!>.n; 2 (<I> if <C> else <I>); 1 number(<OI!>); 2 <DI!>[<K>]
I: 1 <DI!>.get(<K>, 0); 1 <M!>.count; 1 <DB!>[<K>].n; 1 max(<LI!>)
F: 3 0.5; 2 1.5; 4 <F!>; 2 float(<I>); 2 <F> + 0.25; 3 <LF!>[0]; 2 <LF!>[-1]; 1 (<F> if <C> else <F>); 1 sum(<LF!>)
C: 14 bool(<flag> > 0); 3 x.size(0) > <c>; 3 <I!> > <c>; 2 <I!> == <c>; 3 <I!> % 2 == 0; 2 len(<LT!>) > <c>; 1 len(<LT!>) == 2
C: 3 bool(<T>.sum() > 2); 2 <K> in <DT!>; 1 <K> not in <DT!>; 1 <c> in <DN!>; 2 <I> in <LI!>; 1 <K> in <DL!>
C: 1 <C> and <C>; 1 <C> or <C>; 1 not <C>; 1 <OT!> is None; 1 <OT!> is not None; 1 <OL!> is not None; 1 <OI!> is None; 1 <B!>.n > 2
C: 1 len(<LI!>) > 0 and <1>[-1] > 1; 1 len(<DT!>) > 1; 1 bool(<flag> > 0) == bool(<flag> > 0)
LT: 6 <LT!>; 2 [<T>]; 4 [<T>, <T>]; 1 [<T>, <T>, <T>]; 2 EMPTY; 2 <LT!>[:]; 1 <LT!>.copy(); 1 list(<LT!>); 1 <LT!>[1:]; 1 <LT!>[:-1]
LT: 1 <LT!>[:<I!>]; 1 <LT!>[::-1]; 1 <LT!>[::2]; 1 <LT!> + <LT!>; 1 <LT!> + [<T>]; 3 <DL!>[<K>]; 3 <LL!>[0]; 1 <LL!>[-1]
LT: 2 <B!>.l; 2 <TL!>[0]; 2 <R!>.l; 4 (<LT!> if <C> else <LT!>); 1 (<LT> if <C> else <LT>); 1 list(x.unbind(0)); 1 [v + 1 for v in <LT!>]
LT: 1 [x[i] for i in range(x.size(0))]; 1 list(<DT!>.values()); 1 [<T>] * 2; 1 <H!>.b.l; 1 <DB!>[<K>].l; 2 <DL!>.get(<K>, <LT!>)
LI: 5 <LI!>; 3 [<I>, <I>]; 1 [<I>]; 2 EMPTY; 2 <LI!>[:]; 1 <LI!>.copy(); 1 <LI!>[1:]; 1 sorted(<LI!>); 1 list(range(<c>))
LI: 1 [n * 2 for n in <LI!>]; 3 (<LI!> if <C> else <LI!>); 1 <LI!> + <LI!>; 1 <LI!>[::-1]; 1 [len(v) for v in <LL!>]; 1 <M!>.s
LF: 4 <LF!>; 3 [<F>, <F>]; 1 EMPTY; 1 <LF!>.copy(); 1 (<LF!> if <C> else <LF!>); 1 <LF!>[1:]; 1 [float(n) for n in <LI!>]; 1 sorted(<LF!>)
LP: 4 <LP!>; 3 [(<T>, <I>)]; 3 [(<T>, <I>), (<T>, <I>)]; 2 EMPTY; 1 <LP!>[:]; 1 <LP!>[1:]; 2 (<LP!> if <C> else <LP!>); 1 [(v, 1) for v in <LT!>]; 1 [<P!>]; 1 <LP!> + <LP!>
LL: 4 <LL!>; 3 [<LT>, <LT>]; 2 [<LT!>, <1>]; 2 [<LT!>]; 1 EMPTY; 1 <LL!>.copy(); 1 <LL!>[:1]; 1 [[v] for v in <LT!>]
LL: 1 (<LL!> if <C> else <LL!>); 1 list(<DL!>.values()); 1 [<LT!>] * 2
LD: 4 <LD!>; 3 [<DT>, <DT>]; 2 [<DT!>, <1>]; 2 [<DT!>]; 1 <LD!>[:]
DT: 5 <DT!>; 4 {"a": <T>, "b": <T>}; 2 {<K>: <T>}; 2 EMPTY; 1 <DT!>.copy(); 4 (<DT!> if <C> else <DT!>); 1 {k: v + 1 for k, v in <DT!>.items()}; 2 <M!>.d; 2 <LD!>[0]; 1 <LD!>[-1]
DN: 4 <DN!>; 3 {0: <T>, 1: <T>}; 1 {<c>: <T>}; 1 EMPTY; 1 <DN!>.copy(); 2 (<DN!> if <C> else <DN!>); 1 {i: x.sum(0) * i for i in range(2)}
DL: 4 <DL!>; 3 {"a": <LT>, "b": <LT>}; 3 {"a": <LT!>, "b": <1>}; 2 {<K>: <LT!>}; 1 EMPTY; 1 <DL!>.copy(); 2 (<DL!> if <C> else <DL!>)
DI: 4 <DI!>; 3 {"a": <I>, "b": <I>}; 1 {<K>: <I>}; 1 EMPTY; 1 <DI!>.copy(); 1 (<DI!> if <C> else <DI!>)
OT: 3 None; 3 <T>; 3 <OT!>; 2 <DT!>.get(<K>); 1 <M!>.last; 1 <DN!>.get(<c>)
OI: 2 None; 3 <I>; 2 <OI!>; 1 <DI!>.get(<K>)
OP: 2 None; 3 (<T>, <I>); 2 <OP!>; 1 <P!>
OL: 2 None; 4 <LT!>; 2 <LT>; 2 <OL!>; 1 <DL!>.get(<K>)
OD: 2 None; 4 <DT!>; 2 <DT>; 2 <OD!>
P: 4 (<T>, <I>); 3 <P!>; 2 <LP!>[0]; 1 <LP!>[-1]; 1 (<P!> if <C> else <P!>)
TL: 4 (<LT!>, <T>); 2 (<LT>, <T>); 3 <TL!>; 1 (<TL!> if <C> else <TL!>)
R: 3 Row(<T>, <I>, <LT!>); 2 Row(<T>, <I>, <LT>); 3 <R!>; 1 (<R!> if <C> else <R!>); 1 <R!>._replace(n=<I>)
B: 4 Box(<T>, <I>); 4 <B!>; 3 (<B!> if <C> else <B!>); 2 <LB!>[0]; 1 <LB!>[-1]; 2 <DB!>[<K>]; 2 <H!>.b
M: 4 Meter(<T>); 3 <M!>; 2 (<M!> if <C> else <M!>)
H: 4 Holder(<B!>); 2 Holder(<B>); 3 <H!>; 1 (<H!> if <C> else <H!>)
LB: 3 [<B!>, <B>]; 2 [<B!>, <1>]; 2 [<B>]; 3 <LB!>; 1 <LB!>[:]; 1 <H!>.l; 1 EMPTY
DB: 3 {"a": <B!>, "b": <B>}; 2 {"a": <B!>, "b": <1>}; 3 <DB!>; 1 <DB!>.copy()
I: 1 len(<LN!>); 1 len(<LN!>[-1]); 1 <LN!>[0][0]; 1 <LQ!>[-1][1]; 1 <LE!>[-1]["a"]; 1 <J!>.n; 1 <LJ!>[0].n; 1 len(<DK!>)
I: 2 <DK!>.get(<I>, 3); 1 <DK!>[<I!>]; 1 len(<DM!>); 1 <Q!>[1]
C: 1 <I> in <DK!>; 1 <I> in <DM!>; 1 len(<LN!>) > <c>; 1 len(<LJ!>) > 1
LI: 3 <LN!>[0]; 2 <LN!>[-1]; 1 <LN!>[<I!> % len(<1>)]; 2 <Q!>[0]; 1 <LQ!>[-1][0]; 2 <J!>.l; 1 <LJ!>[-1].l; 1 <DM!>[<I!>]; 1 list(<DK!>.keys()); 1 list(<DK!>.values())
DI: 1 <LE!>[0]; 1 <LE!>[-1]
LN: 4 <LN!>; 3 [<LI>, <LI>]; 2 [<LI!>, <1>]; 3 EMPTY; 1 <LN!>.copy(); 1 list(<LN!>); 1 <LN!>[:1]; 1 <LN!>[1:]
LN: 2 [[i, <I>] for i in range(x.size(0))]; 2 (<LN!> if <C> else <LN!>); 1 list(<DM!>.values()); 1 [<LI!>] * 2; 1 <LN!> + <LN!>; 1 <LN!> * 2
Q: 4 (<LI>, <I>); 2 <Q!>; 2 <LQ!>[0]; 1 <LQ!>[-1]
LQ: 4 <LQ!>; 3 [(<LI>, <I>)]; 3 EMPTY; 1 <LQ!>[:]; 1 <LQ!>[:2]; 1 [<Q!>]; 2 (<LQ!> if <C> else <LQ!>); 1 [(l, 1) for l in <LN!>]; 1 <LQ!> + <LQ!>
LE: 4 <LE!>; 3 [{"a": <I>}]; 2 [{"a": <I>}, {"a": <I>}]; 3 EMPTY; 1 <LE!>[:]; 1 <LE!>[1:]; 1 [{"a": i} for i in range(x.size(0))]; 1 (<LE!> if <C> else <LE!>)
J: 4 Count(<I>); 4 <J!>; 2 (<J!> if <C> else <J!>); 2 <LJ!>[0]; 2 <LJ!>[-1]
LJ: 4 <LJ!>; 3 [<J>]; 2 [<J!>, <1>]; 3 EMPTY; 1 <LJ!>[:]; 1 <LJ!>[::-1]; 1 [Count(i) for i in range(x.size(0))]; 1 (<LJ!> if <C> else <LJ!>)
DK: 4 <DK!>; 3 {1: <I>, 2: <I>}; 4 EMPTY; 1 <DK!>.copy(); 2 (<DK!> if <C> else <DK!>); 2 {i: <I> for i in range(x.size(0))}
DM: 4 <DM!>; 3 {1: <LI>, 2: <LI>}; 2 {1: <LI!>, 2: <1>}; 4 EMPTY; 1 <DM!>.copy(); 2 (<DM!> if <C> else <DM!>)
"""
STATEMENTS = """
LT: 9 <LT!>.append(<T>); 2 <LT!>.extend([<T>, <T>]); 1 <LT!>.extend(<LT!>[:]); 1 <LT!> += [<T>]; 1 <LT!> += <LT!>.copy()
LT: 3 <LT!>.insert(0, <T>); 1 <LT!>.insert(1, <T>); 1 <LT!>.insert(-1, <T>); 1 <LT!>.insert(<I!>, <T>); 2 <LT!>.pop(); 2 <LT!>.pop(0)
LT: 3 <T=> = <LT!>.pop(); 2 <T=> = <LT!>.pop(0); 1 <T=> = <LT!>.pop(<I!>); 1 <LT!>.pop(-2); 1 del <LT!>[0]; 1 del <LT!>[-1]
LT: 5 <LT!>[0] = <T>; 3 <LT!>[-1] = <T>; 2 <LT!>[1] = <T>; 2 <LT!>[<I!>] = <T>; 2 <LT!>[<I!> % len(<1>)] = <T>; 1 <LT!>[int(<flag>)] = <T>
LT: 2 <LT!>.reverse(); 1 <LT!>.clear(); 2 <LT!>[0] = <LT!>[-1]; 1 <LT!>.append(<1>[0]); 1 <LT!>.append(<1>.pop(0)); 1 <LT!>.append(<LT!>.pop())
LI: 6 <LI!>.append(<I>); 2 <LI!>.sort(); 1 <LI!>.sort(reverse=True); 1 <LI!>.reverse(); 2 <LI!>.pop(); 2 <I=> = <LI!>.pop(0)
LI: 2 <LI!>.insert(0, <I>); 4 <LI!>[0] = <I>; 2 <LI!>[-1] += 1; 2 <LI!>[<I!>] = <I>; 1 <LI!>[<I!> % len(<1>)] += <c>
LI: 1 <LI!>.extend([<I>, <I>]); 1 <LI!>.clear()
LF: 5 <LF!>.append(<F>); 1 <LF!>.sort(); 1 <LF!>.reverse(); 3 <LF!>[0] = <F>; 1 <LF!>[-1] += 0.5; 2 <F=> = <LF!>.pop(); 1 <LF!>.insert(0, <F>)
LP: 6 <LP!>.append((<T>, <I>)); 3 <LP!>[0] = (<T>, <I>); 2 <LP!>.pop(0); 2 <LP!>.pop(); 2 <T=>, <I=> = <LP!>[0]; 1 <T=>, <I=> = <LP!>.pop()
LP: 1 <LP!>.reverse(); 1 <LP!>[-1] = (<1>[-1][0] + 1, <I>); 1 <LP!>.insert(0, <P>); 2 <P=> = <LP!>[-1]
LL: 3 <LL!>.append(<LT>); 3 <LL!>[0] = <LT>; 5 <LL!>[0].append(<T>); 3 <LL!>[-1].append(<T>); 2 <LL!>[<I!>].append(<T>); 2 <LL!>[0][0] = <T>
LL: 1 <LL!>.pop(0); 2 <LT=> = <LL!>.pop(); 1 <LL!>.reverse(); 1 <LL!>.insert(0, <LT!>); 1 <LL!>[int(<flag>)].append(<T>)
LD: 3 <LD!>.append(<DT>); 5 <LD!>[0][<K>] = <T>; 3 <LD!>[-1][<K>] = <T>; 2 <LD!>[0] = <DT>; 1 <LD!>.reverse(); 2 <DT=> = <LD!>[0]; 1 <LD!>.pop()
DT: 9 <DT!>[<K>] = <T>; 2 <DT!>.pop(<K>); 2 <T=> = <DT!>.pop(<K>, <T>); 1 del <DT!>[<K>]; 2 <DT!>.setdefault(<K>, <T>)
DT: 2 <T=> = <DT!>.setdefault(<K>, <T>); 2 <DT!>.update({<K>: <T>}); 1 <DT!>.update(<DT!>); 1 <DT!>.clear(); 4 <DT!>[<K>] = <1>[<K>] + 1
DT: 2 <DT!>[<K>] = <1>.get(<K>, <T>) * 2
DN: 5 <DN!>[<c>] = <T>; 2 <DN!>[<I!>] = <T>; 1 <DN!>.pop(<c>); 1 del <DN!>[<c>]; 1 <DN!>[len(<1>)] = <T>; 1 <T=> = <DN!>.pop(<c>, <T>); 1 <DN!>.clear(); 2 <DN!>[0] = <1>[0] + <T>
DL: 6 <DL!>[<K>].append(<T>); 3 <DL!>[<K>] = <LT>; 2 <DL!>[<K>] = <1>[<K>]; 2 <DL!>[<K>][0] = <T>; 1 <DL!>.setdefault(<K>, <LT>).append(<T>)
DL: 1 <DL!>.pop(<K>); 2 <LT=> = <DL!>.pop(<K>); 1 <DL!>[<K>].pop(); 1 <DL!>[<K>].extend(<LT!>[:]); 1 <DL!>[<K>].reverse()
DL: 1 <DL!>[<K>].clear()
DI: 5 <DI!>[<K>] = <I>; 4 <DI!>[<K>] += 1; 2 <DI!>[<K>] = <1>.get(<K>, 0) + 1; 1 <I=> = <DI!>.pop(<K>, 3); 1 del <DI!>[<K>]
P: 2 <T=>, <I=> = <P!>
TL: 4 <TL!>[0].append(<T>); 2 <LT=>, <T=> = <TL!>; 1 <TL!>[0].pop(); 1 <TL!>[0][0] = <1>[1]
R: 4 <R!>.l.append(<T>); 1 <R!>.l[0] = <1>.v; 1 <T=>, <I=>, <LT=> = <R!>
B: 4 <B!>.add(<T>); 3 <B!>.v = <T>; 2 <B!>.n += 1; 2 <B!>.n = <I>; 3 <B!>.l.append(<T>); 3 <B!>.l = <LT!>; 1 <B!>.l = <LT>; 1 <B!>.l.pop()
B: 1 <B!>.reset(); 1 <B!>.l = <B!>.l; 1 <B!>.v = <B!>.v + 1; 1 <B!>.take(<B!>)
M: 4 <M!>.update(<T>); 2 <M!>.count += 1; 2 <M!>.last = None; 1 <M!>.last = <T>; 2 <M!>.d[<K>] = <T>; 1 <M!>.d = <DT!>; 2 <M!>.s.append(<I>); 1 <M!>.s = <LI!>
H: 3 <H!>.b.add(<T>); 2 <H!>.b = <B!>; 2 <H!>.push(<B>); 1 <H!>.l[0].add(<T>); 1 <H!>.l.append(<B!>); 1 <H!>.turn(); 2 <H!>.b.v = <T>; 1 <H!>.b.l.append(<T>)
LB: 3 <LB!>[0].add(<T>); 2 <LB!>[-1].v = <T>; 2 <LB!>.append(<B!>); 1 <LB!>[0] = <B>; 1 <LB!>.pop(0); 1 <LB!>.reverse(); 2 <B=> = <LB!>[-1]; 1 <LB!>[0].l.append(<T>)
DB: 3 <DB!>[<K>].add(<T>); 2 <DB!>[<K>].n += 1; 2 <DB!>[<K>] = <B>; 1 <DB!>[<K>] = <1>[<K>]; 2 <B=> = <DB!>[<K>]; 1 <DB!>[<K>].l.append(<T>)
LN: 5 <LN!>.append(<LI>); 2 <LN!>.append(<LI!>); 2 <LN!>.append(<1>[0]); 3 <LN!>[0].append(<I>); 3 <LN!>[-1].append(<I>)
LN: 2 <LN!>[<I!> % len(<1>)].append(<I>); 1 <LN!>[int(<flag>)][0] = <I>; 2 <LN!>[0] = <LI>; 1 <LN!>[-1] = <1>[0]; 2 <LI=> = <LN!>[0]
LN: 2 <LI=> = <LN!>[-1]; 1 <LI=> = <LN!>[<I!> % len(<1>)]
LN: 1 <LN!>.pop(0); 2 <LI=> = <LN!>.pop(); 1 <LN!>.insert(0, <LI>); 1 <LN!>.reverse(); 1 del <LN!>[0]; 1 <LN!>.extend(<LN!>); 1 <LN!>.clear(); 1 <LN!>.append(<1>.pop(0))
Q: 2 <Q!>[0].append(<I>); 1 <LI=>, <I=> = <Q!>
LQ: 5 <LQ!>.append((<LI>, <I>)); 2 <LQ!>.append((<LI!>, <I>)); 2 <LQ!>.append(<Q!>); 3 <LQ!>[0][0].append(<I>); 3 <LQ!>[-1][0].append(<I>)
LQ: 2 <LQ!>[0] = (<LI>, <I>); 2 <LI=>, <I=> = <LQ!>[-1]; 1 <Q=> = <LQ!>.pop(); 1 <LQ!>.reverse(); 1 <LQ!>[0] = (<1>[-1][0], <I>)
LE: 5 <LE!>.append({"a": <I>}); 1 <LE!>.append(<1>[0]); 3 <LE!>[0]["a"] = <I>; 3 <LE!>[-1]["a"] += 1; 2 <LE!>[<I!> % len(<1>)]["a"] = <I>
LE: 2 <DI=> = <LE!>[-1]; 1 <LE!>.pop(0); 1 <LE!>[0] = {"a": <I>}; 1 <LE!>.reverse()
J: 4 <J!>.add(<I>); 3 <J!>.n = <I>; 2 <J!>.n += 1; 2 <J!>.l.append(<I>); 1 <J!>.l = <LI!>; 1 <J!>.l = <J!>.l
LJ: 5 <LJ!>.append(Count(<I>)); 2 <LJ!>.append(<J!>); 3 <LJ!>[0].add(<I>); 3 <LJ!>[-1].n += 1; 2 <LJ!>[<I!> % len(<1>)].n = <I>
LJ: 1 <LJ!>[-1].l.append(<I>); 2 <J=> = <LJ!>[-1]; 1 <LJ!>.pop(0); 1 <J=> = <LJ!>.pop(); 1 <LJ!>.reverse(); 1 <LJ!>[0] = <J>
LJ: 1 <LJ!>[0].l = <1>[-1].l
DK: 6 <DK!>[<I>] = <I>; 2 <DK!>[<I!>] = <1>.get(<2>, 0) + 1; 1 <DK!>.setdefault(<I>, <I>); 2 <DK!>[len(<1>)] = <I>; 1 <DK!>.clear(); 1 <DK!>.pop(<I!>); 1 del <DK!>[<I!>]
DM: 6 <DM!>[<I>] = <LI>; 2 <DM!>[<I>] = <LI!>; 4 <DM!>[<I!>].append(<I>); 2 <DM!>.setdefault(<I>, [<I>]).append(<I>)
DM: 1 <DM!>[<I!>] = <1>[<I!>]; 2 <LI=> = <DM!>[<I!>]; 1 <DM!>.pop(<I!>); 1 <DM!>.clear()
I: 4 <I!> += <I>; 2 <I!> = <1> + 1
F: 2 <F!> += 0.5
T: 3 <T!> = <1> + <T>; 1 <T!> = <1> * 2
"""
# Writes to tensors that containers hold.
IN_PLACE = """
LT: 2 <LT!>[0].add_(1); 2 <LT!>[-1] += <T>; 1 <LT!>[0].copy_(<T>)
DT: 2 <DT!>[<K>].mul_(2); 2 <DT!>[<K>] += <T>
B: 1 <B!>.v.add_(1)
T: 2 <T!>.add_(<T>); 2 <T!> += 1
"""
# Guarded statements: what is popped is there.
GUARDED = [("len(<LT!>) > 0", "<1>.pop()"), ("len(<LT!>) > 1", "<1>.pop(0)"), ("len(<LT!>) > 2", "del <1>[1]"),
           ("len(<LI!>) > 0", "<1>.pop()"), ("len(<LP!>) > 1", "<1>.pop(0)"), ("len(<LT!>) > 0", "<1>[0] = <T>"),
           ("len(<LT!>) > 0", "<1>[-1] = <T>"), ("\"b\" in <DT!>", "<1>.pop(\"b\")"), ("\"b\" in <DT!>", "<1>[\"b\"] = <1>[\"b\"] + 1"),
           ("\"b\" not in <DT!>", "<1>[\"b\"] = <T>"), ("\"c\" not in <DL!>", "<1>[\"c\"] = <LT>"),
           ("\"a\" in <DL!>", "<1>[\"a\"].append(<T>)"), ("len(<LI!>) > 1", "<1>.sort()"), ("len(<LF!>) > 0", "<1>.pop()"),
           ("len(<LL!>) > 0", "<1>[-1].append(<T>)"), ("len(<LB!>) > 0", "<1>[0].add(<T>)"), ("len(<LN!>) > 0", "<1>[0].append(<I>)"),
           ("len(<LN!>) > 1", "<1>.pop(0)"), ("len(<LQ!>) > 0", "<1>[-1][0].append(<I>)"), ("len(<LE!>) > 0", "<1>[-1][\"a\"] = <I>"),
           ("len(<LJ!>) > 0", "<1>[-1].add(<I>)"), ("<I!> in <DK!>", "<2>[<1>] += 1"), ("<I!> in <DK!>", "<2>.pop(<1>)"),
           ("<I!> in <DM!>", "<2>[<1>].append(<I>)"), ("<I!> not in <DM!>", "<2>[<1>] = [<I>]")]
# Loops that grow a list, or a dictionary: head and body.
ROWS = "for <I=> in range(x.size(0)):"
GROWTH = [(ROWS, "<LN!>.append([<1>, <I>])"), (ROWS, "<LN!>.append(<LI>)"), (ROWS, "<LQ!>.append(([<1>], <I>))"),
          (ROWS, "<LQ!>.append((<LI>, <1>))"), (ROWS, "<LE!>.append({\"a\": <1>})"), (ROWS, "<LJ!>.append(Count(<1>))"),
          (ROWS, "<LJ!>.append(<J>)"), (ROWS, "<DK!>[<1> * 2] = <I>"), (ROWS, "<DK!>[<1> % 2] = <1>"), (ROWS, "<DM!>[<1>] = [<I>]"),
          (ROWS, "<DM!>[<1> % 2] = <LI>"), ("for <I=> in range(len(<LN!>)):", "<2>[<1>].append(<I>)"),
          ("for <LI=> in <LN!>:", "<1>.append(<I>)"), ("for <J=> in <LJ!>:", "<1>.add(<I>)"),
          ("for <LI=>, <I=> in <LQ!>:", "<1>.append(<2>)"), ("for <DI=> in <LE!>:", "<1>[\"a\"] += 1"),
          ("for <I=>, <LI=> in <DM!>.items():", "<2>.append(<1>)")]
# Heads of loops, with the loop's variables.
LOOPS = [(8, "for <X=> in range(x.size(0)):"), (5, "for <I=> in range(<c>):"), (2, "for <I=> in range(<I!>):"), (3, "for <T=> in <LT!>:"),
         (2, "for <I=>, <T=> in enumerate(<LT!>):"), (1, "for <T=>, <I=> in zip(<LT!>, <LI!>):"),
         (1, "for <T=>, <T=> in zip(<LT!>, <LT!>):"), (2, "for <T=>, <I=> in <LP!>:"), (2, "for <S=>, <T=> in <DT!>.items():"),
         (1, "for <S=> in <DT!>.keys():"), (1, "for <S=> in <DT!>:"), (2, "for <S=> in [\"a\", \"b\"]:"), (2, "for <LT=> in <LL!>:"),
         (2, "for <LT=> in <DL!>.values():"), (1, "for <S=>, <LT=> in <DL!>.items():"), (2, "for <B=> in <LB!>:"),
         (2, "for <I=> in <LI!>:"), (1, "for <DT=> in <LD!>:"), (1, "for <T=> in x:"), (1, "for <I=> in range(len(<LT!>)):"),
         (1, "for <I=>, <LT=> in enumerate([<LT!>, <LT!>]):"), (1, "for <LT=> in [<LT!>, <LT!>]:"), (1, "for <T=> in <B!>.l:"),
         (1, "for <B=> in <DB!>.values():"), (2, "for <LI=> in <LN!>:"), (2, "for <LI=>, <I=> in <LQ!>:"), (1, "for <DI=> in <LE!>:"),
         (2, "for <J=> in <LJ!>:"), (1, "for <I=>, <LI=> in enumerate(<LN!>):"), (1, "for <I=>, <I=> in <DK!>.items():"),
         (1, "for <I=> in <DK!>.keys():"), (1, "for <I=>, <LI=> in <DM!>.items():"), (1, "for <LI=> in <DM!>.values():")]
# While loops, with what ends them.
WHILES = [("3 > len(<LT!>)", "<1>.append(<T>)"), ("len(<LT!>) > 1", "<1>.pop()"), ("len(<LT!>) > 2 and <C>", "<1>.pop(0)"),
          ("x.size(0) > len(<LT!>)", "<1>.insert(0, <T>)"), ("3 > len(<LI!>)", "<1>.append(<I>)"), ("len(<LP!>) > 0", "<1>.pop()"),
          ("3 > <I!>", "<1> += 1"), ("x.size(0) > <I!>", "<1> += 1"), ("2 > <B!>.n", "<1>.n += 1"), ("3 > len(<B!>.l)", "<1>.add(<T>)")]
# What is seen of a variable at the end: expressions, and for which of them it must hold what.
READS = {
    "T": ["@"], "I": ["@"], "F": ["@"], "LT": ["total(@)", "len(@)"], "LI": ["mark(@)", "len(@)"], "LF": ["marked(@)", "len(@)"],
    "LP": ["total_of(@)", "len(@)"], "LL": ["total_lists(@)", "len(@)"], "LD": ["total_dicts(@)", "len(@)"],
    "DT": ["total(list(@.values()))", "len(@)", "present(@.get(\"a\"))"], "DN": ["total(list(@.values()))", "len(@)", "present(@.get(1))"],
    "DL": ["total_lists(list(@.values()))", "len(@)"], "DI": ["mark(list(@.values()))", "@.get(\"a\", -1)"],
    "OT": ["present(@)"], "OI": ["number(@)"], "OP": ["part(@)"], "OL": ["listed(@)"], "OD": ["held(@)"], "P": ["@[0]", "@[1]"],
    "TL": ["total(@[0])", "@[1]"], "R": ["@.v", "@.n", "total(@.l)"], "B": ["@.v", "@.n", "total(@.l)", "len(@.l)"],
    "M": ["@.total", "@.count", "present(@.last)", "total(list(@.d.values()))", "mark(@.s)"],
    "H": ["@.b.v", "@.b.n", "total(@.b.l)", "boxes(@.l)"], "LB": ["boxes(@)", "len(@)"], "DB": ["boxes(list(@.values()))", "len(@)"],
    "LN": ["mark_lists(@)", "len(@)"], "Q": ["mark(@[0])", "@[1]"], "LQ": ["mark_pairs(@)", "len(@)"], "LE": ["mark_dicts(@)", "len(@)"],
    "J": ["@.n", "mark(@.l)"], "LJ": ["mark_counts(@)", "len(@)"], "DK": ["mark_table(@)", "len(@)"],
    "DM": ["mark_lists(list(@.values()))", "mark(list(@.keys()))", "len(@)"],
}
MORE_READS = {
    "LT": ["torch.stack(@ + [torch.zeros(2)])", "@[0]", "@[-1]", "torch.stack(@)", "@[1]"], "LI": ["@[0]", "sum(@)", "@[-1]"],
    "LF": ["@[0]"], "LP": ["@[0][0]", "@[-1][1]"], "LL": ["@[0][0]", "len(@[-1])", "total(@[0])"], "DT": ["@[\"a\"]", "@[\"b\"]"],
    "DN": ["@[0]", "@[1]"], "DL": ["total(@[\"a\"])", "@[\"b\"][0]", "len(@[\"a\"])"], "LD": ["@[0][\"a\"]"], "LB": ["@[0].v", "@[-1].n"], "DB": ["@[\"a\"].v", "@[\"b\"].n"],
}
KINDS = {"len(": "I", "mark(": "I", "mark_lists(": "I", "mark_pairs(": "I", "mark_dicts(": "I", "mark_counts(": "I", "mark_table(": "I",
         "number(": "I", "sum(": "I", "marked(": "F", "torch.stack(": "St"}
PIECES = {
    "total": "def total(l: List[Tensor]) -> Tensor:\n    t = torch.zeros(2)\n    for i, v in enumerate(l):\n        t = t + v * (i + 1)\n    return t",
    "mark": "def mark(l: List[int]) -> int:\n    s = 0\n    for i, n in enumerate(l):\n        s += n * (i + 1)\n    return s",
    "marked": "def marked(l: List[float]) -> float:\n    s = 0.0\n    for i, n in enumerate(l):\n        s += n * (i + 1)\n    return s",
    "total_of": "def total_of(l: List[Tuple[Tensor, int]]) -> Tensor:\n    t = torch.zeros(2)\n    for i, (v, n) in enumerate(l):\n        t = t + v * n + i * n\n    return t",
    "total_lists": "def total_lists(l: List[List[Tensor]]) -> Tensor:\n    t = torch.zeros(2)\n    for i, m in enumerate(l):\n"
                   "        for j, v in enumerate(m):\n            t = t + v * (i * 3 + j + 1)\n    return t",
    "total_dicts": "def total_dicts(l: List[Dict[str, Tensor]]) -> Tensor:\n    t = torch.zeros(2)\n    for i, d in enumerate(l):\n"
                   "        for v in d.values():\n            t = t + v * (i + 1)\n    return t",
    "mark_lists": "def mark_lists(l: List[List[int]]) -> int:\n    s = 0\n    for i, m in enumerate(l):\n        s += len(m) * (i + 5)\n"
                  "        for j, n in enumerate(m):\n            s += n * (i * 3 + j + 1)\n    return s",
    "mark_pairs": "def mark_pairs(l: List[Tuple[List[int], int]]) -> int:\n    s = 0\n    for i, (m, k) in enumerate(l):\n"
                  "        s += len(m) * (i + 5) + k * (i + 2)\n        for j, n in enumerate(m):\n            s += n * (i * 3 + j + 1)\n"
                  "    return s",
    "mark_dicts": "def mark_dicts(l: List[Dict[str, int]]) -> int:\n    s = 0\n    for i, d in enumerate(l):\n"
                  "        for v in d.values():\n            s += v * (i + 1) + 1\n    return s",
    "mark_counts": "def mark_counts(l: List[Count]) -> int:\n    s = 0\n    for i, c in enumerate(l):\n        s += c.n * (i + 1)\n"
                   "        for j, n in enumerate(c.l):\n            s += n * (i * 3 + j + 1)\n    return s",
    "mark_table": "def mark_table(d: Dict[int, int]) -> int:\n    s = 0\n    i = 0\n    for k, v in d.items():\n        i += 1\n        s += k * i + v * (i + 4)\n    return s",
    "present": "def present(o: Optional[Tensor]) -> Tensor:\n    if o is None:\n        return torch.full((2,), 77.0)\n    return o",
    "number": "def number(o: Optional[int]) -> int:\n    return o if o is not None else 77",
    "part": "def part(o: Optional[Tuple[Tensor, int]]) -> Tensor:\n    if o is not None:\n        return o[0] * o[1]\n    return torch.full((2,), 77.0)",
    "listed": "def listed(o: Optional[List[Tensor]]) -> Tensor:\n    t = torch.full((2,), 77.0)\n    if o is not None:\n"
              "        for i, v in enumerate(o):\n            t = t + v * (i + 1)\n    return t",
    "held": "def held(o: Optional[Dict[str, Tensor]]) -> Tensor:\n    t = torch.full((2,), 77.0)\n    if o is not None:\n"
            "        for v in o.values():\n            t = t + v\n    return t",
    "boxes": "def boxes(l: List[Box]) -> Tensor:\n    t = torch.zeros(2)\n    for i, b in enumerate(l):\n"
             "        t = t + b.v * (i + 1) + b.n\n        for v in b.l:\n            t = t + v\n    return t",
    "Row": "class Row(NamedTuple):\n    v: Tensor\n    n: int\n    l: List[Tensor]",
    "Box": """@torch.jit.script
class Box:
    def __init__(self, v: Tensor, n: int):
        self.v = v
        self.n = n
        self.l = [v]

    def add(self, x: Tensor):
        self.v = self.v + x
        self.n += 1
        self.l.append(x)

    def get(self) -> Tensor:
        return self.v * self.n

    def last(self) -> Tensor:
        if len(self.l) > 1:
            return self.l[-1]
        return self.v

    def reset(self):
        self.l = [self.v]
        self.n = 0

    def take(self, other: "Box"):
        self.l = other.l
        self.v = other.v + 1""",
    "Count": """@torch.jit.script
class Count:
    def __init__(self, n: int):
        self.n = n
        self.l = [n]

    def add(self, k: int):
        self.n += k
        self.l.append(k)""",
    "Meter": """@torch.jit.script
class Meter:
    def __init__(self, v: Tensor):
        self.total = v
        self.count = 0
        self.last = torch.jit.annotate(Optional[Tensor], None)
        self.d = {"m": v}
        self.s = [0]

    def update(self, v: Tensor):
        last = self.last
        if last is not None:
            self.total = self.total + last
        self.last = v
        self.count += 1
        self.d["m"] = torch.maximum(self.d["m"], v)
        self.s.append(self.count)

    def mean(self) -> Tensor:
        return self.total * max(self.count, 1)""",
    "Holder": """@torch.jit.script
class Holder:
    def __init__(self, b: Box):
        self.b = b
        self.l = [b]

    def push(self, b: Box):
        self.l.append(b)
        self.b = b

    def turn(self):
        self.l.reverse()
        self.b = self.l[0]""",
}
ORDER = ["Row", "Box", "Count", "Meter", "Holder"] + [name for name in PIECES if name[0].islower()]


def table(text):
    """Type → weights and templates."""
    found = {}
    for line in text.strip().splitlines():
        kind, rest = line.split(": ", 1)
        for entry in rest.split("; "):
            weight, template = entry.split(" ", 1)
            found.setdefault(kind, []).append((int(weight), template))
    return found


def definitions(text):
    """Functions and classes that the text uses, and those that they use."""
    used, texts = set(), [text]
    while texts:
        words = set(re.findall(r"\w+", texts.pop()))
        texts += [PIECES[name] for name in PIECES if name in words - used]
        used |= words & PIECES.keys()
    return [PIECES[name] for name in ORDER if name in used]
