"""Graphs as text that are small in the file and endless when taken at their word: each function returns one."""

CONSTANT = "  %{0} : {1} = prim::Constant[value={2}]()\n"


def graph(inputs, *body, returns="x"):
    return f"graph({inputs}):\n" + "".join(body) + f"  return (%{returns})\n"


def constant(name, value, type="int"):
    return CONSTANT.format(name, type, value)


def repeated(count, line):
    """`line` with %{0} made of %{1}, count times: v0, v1, …"""
    return "".join("  " + line.format(f"v{i + 1}", f"v{i}") + "\n" for i in range(count))


# ------------------------------------------------------------------------------------------------ nesting

def nested_ifs(depth):
    return graph("%x : Tensor, %c : bool", *["prim::If(%c)\nblock0():\n" for _ in range(depth)],
                 *["-> ()\nblock1():\n-> ()\n" for _ in range(depth)])


def too_few_arguments():
    return graph("%x : Tensor, %l : int[]", *[f"  %y{i} : int = {op}(%l)\n" for i, op in enumerate(
        ["aten::slice", "aten::add", "aten::mul", "aten::len", "aten::sum", "aten::select", "aten::index", "aten::copy", "aten::append"])])


def nested_loops(depth):
    """Each counts from the same number, so that each changes in every round of the one around it."""
    text = "graph(%x : Tensor, %n : int, %c : bool):\n" + constant("one", 1)
    for i in range(depth):
        text += f"  %r{i} : int = prim::Loop(%n, %c, %n)\n    block0(%i{i} : int, %b{i} : int):\n"
    for i in reversed(range(depth)):
        text += f"      %y{i} : int = aten::add(%b{i}, %{f'r{i + 1}' if i + 1 < depth else 'one'})\n      -> (%c, %y{i})\n"
    return text + "  %z : Tensor = aten::add(%x, %r0, %one)\n  return (%z)\n"


def nested_literal(depth):
    return graph("%x : Tensor", constant("l", "[" * depth + "]" * depth, "int[]"))


def nested_tuple_literal(depth):
    return graph("%x : Tensor", constant("l", "(" * depth + ")" * depth, "int[]"))


def nested_dict_literal(depth):
    return graph("%x : Tensor", constant("l", "{1:" * depth + "1" + "}" * depth, "int[]"))


def nested_type(depth):
    return f"graph(%x : {'List[' * depth}int{']' * depth}):\n  return (%x)\n"


def nested_list_type(depth):
    return f"graph(%x : int{'[]' * depth}):\n  return (%x)\n"


def nested_optional_type(depth):
    return f"graph(%x : int{'?' * depth}):\n  return (%x)\n"


def nested_tuple_type(depth):
    return f"graph(%x : {'(' * depth}int{')' * depth}):\n  return (%x)\n"


def nested_annotation(depth):
    return graph("%x : Tensor", constant("l", "annotate(int[], " * depth + "1" + ")" * depth, "int[]"))


def nested_tuples(depth):
    """Tuples inside each other, made node by node: no nesting in the text."""
    return graph("%v0 : Tensor", repeated(depth, "%{0} : (Tensor) = prim::TupleConstruct(%{1})"), returns=f"v{depth}")


# ------------------------------------------------------------------------------------------------ doubling

def doubling_tuples(levels):
    return graph("%v0 : Tensor", repeated(levels, "%{0} : (Tensor, Tensor) = prim::TupleConstruct(%{1}, %{1})"), returns=f"v{levels}")


def doubling_lists(levels):
    return graph("%x : Tensor", constant("one", 1), "  %v0 : int[] = prim::ListConstruct(%one, %one)\n",
                 repeated(levels, "%{0} : int[] = aten::add(%{1}, %{1})"),
                 f"  %y : Tensor = aten::reshape(%x, %v{levels})\n", returns="y")


def doubling_open_lists(levels):
    """The same of items that aren't known."""
    return graph("%x : Tensor, %n : int", "  %v0 : int[] = prim::ListConstruct(%n, %n)\n",
                 repeated(levels, "%{0} : int[] = aten::add(%{1}, %{1})"),
                 f"  %y : Tensor = aten::reshape(%x, %v{levels})\n", returns="y")


def doubling_tensor_lists(levels):
    return graph("%x : Tensor", "  %v0 : Tensor[] = prim::ListConstruct(%x, %x)\n",
                 repeated(levels, "%{0} : Tensor[] = aten::add(%{1}, %{1})"),
                 constant("zero", 0), f"  %y : Tensor = aten::cat(%v{levels}, %zero)\n", returns="y")


def long_list(length):
    return graph("%x : Tensor", constant("zero", 0), constant("n", length), "  %l : int[] = prim::ListConstruct(%zero)\n",
                 "  %m : int[] = aten::mul(%l, %n)\n  %y : Tensor = aten::reshape(%x, %m)\n", returns="y")


def repeated_nothing(times):
    return graph("%x : Tensor", constant("n", times), "  %l : int[] = prim::ListConstruct()\n",
                 "  %m : int[] = aten::mul(%l, %n)\n  %y : Tensor = aten::reshape(%x, %m)\n", returns="y")


def many_long_lists(lists, length):
    lines = [constant("zero", 0), constant("n", length), "  %l : int[] = prim::ListConstruct(%zero, %m)\n"]
    for i in range(lists):
        lines.append(f"  %l{i} : int[] = aten::mul(%l, %n)\n  %y{i} : Tensor = acme::keep(%l{i})\n")
    return graph("%x : Tensor, %m : int", *lines)


def many_long_constants(lists, length):
    lines = [constant("n", length)]
    for i in range(lists):
        lines += [constant(f"c{i}", i), f"  %l{i} : int[] = prim::ListConstruct(%c{i})\n",
                  f"  %m{i} : int[] = aten::mul(%l{i}, %n)\n  %y{i} : Tensor = acme::keep(%m{i})\n"]
    return graph("%x : Tensor", *lines)


def extended_list(levels):
    """l.extend(l.copy()), again and again."""
    return graph("%x : Tensor", constant("one", 1), "  %l : int[] = prim::ListConstruct(%one)\n",
                 *[f"  %c{i} : int[] = aten::copy(%l)\n  aten::extend(%l, %c{i})\n" for i in range(levels)],
                 "  %y : Tensor = aten::reshape(%x, %l)\n", returns="y")


def appended_and_read(length):
    return graph("%x : Tensor, %n : int", "  %l : int[] = prim::ListConstruct()\n",
                 *[f"  %a{i} : int[] = aten::append(%l, %n)\n  %y{i} : Tensor = aten::reshape(%x, %l)\n  %z{i} : Tensor = acme::keep(%y{i})\n" for i in range(length)])


def doubling_strings(levels):
    return graph("%x : Tensor", constant("v0", '"ab"', "str"), repeated(levels, "%{0} : str = aten::add(%{1}, %{1})"),
                 f"  %y : Tensor = acme::keep(%v{levels})\n", returns="y")


def doubling_formats(levels):
    return graph("%x : Tensor", constant("v0", '"ab"', "str"), constant("f", '"{}{}{}"', "str"),
                 repeated(levels, "%{0} : str = aten::format(%f, %{1}, %{1}, %{1})"),
                 f"  %y : Tensor = acme::keep(%v{levels})\n", returns="y")


def many_strings(count):
    """Each a little longer than the one before."""
    return graph("%x : Tensor", constant("v0", '"' + "a" * 2000 + '"', "str"), constant("b", '"b"', "str"),
                 "".join(f"  %v{i + 1} : str = aten::add(%v{i}, %b)\n  %y{i} : Tensor = acme::keep(%v{i + 1})\n" for i in range(count)))


# ------------------------------------------------------------------------------------------------ sizes

def read_as_size(value):
    return f"  %l : int[] = prim::ListConstruct(%{value})\n  %y : Tensor = aten::reshape(%x, %l)\n"


def sum_of_sizes(count):
    """(a + b + c + …)², and that squared, and so on."""
    lines = [f"  %v{i} : int = aten::add(%{'n0' if i == 1 else f'v{i - 1}'}, %n{i})\n" for i in range(1, count)]
    lines += [f"  %v{i + 1} : int = aten::mul(%v{i}, %v{i})\n" for i in range(count - 1, count + 19)]
    return graph("%x : Tensor, " + ", ".join(f"%n{i} : int" for i in range(count)), *lines, read_as_size(f"v{count + 19}"), returns="y")


def powers_of_a_size(levels):
    return graph("%x : Tensor, %v0 : int", repeated(levels, "%{0} : int = aten::mul(%{1}, %{1})"), read_as_size(f"v{levels}"), returns="y")


def quotients_of_a_size(levels):
    """(…((n + 1) // n + 1) // n …): each divides by what it is made of."""
    return graph("%x : Tensor, %v0 : int", constant("one", 1),
                 "".join(f"  %a{i} : int = aten::add(%v{i}, %one)\n  %b{i} : int = aten::mul(%a{i}, %a{i})\n"
                         f"  %v{i + 1} : int = aten::floordiv(%b{i}, %a{max(i - 1, 0)})\n" for i in range(levels)),
                 read_as_size(f"v{levels}"), returns="y")


def quotients_by_three(levels):
    """((n // 3 + 1) // 3 + 1) // 3 …: a name that grows a little at each step."""
    return graph("%x : Tensor, %v0 : int", constant("one", 1), constant("three", 3),
                 "".join(f"  %a{i} : int = aten::add(%v{i}, %one)\n  %v{i + 1} : int = aten::floordiv(%a{i}, %three)\n" for i in range(levels)),
                 read_as_size(f"v{levels}"), returns="y")


def convolved(levels):
    """Sizes halved by one convolution after another: an ordinary tower, too tall."""
    return graph("%v0 : Tensor, %w : Float(4, 4, 3, 3)", constant("none", "None", "NoneType"), constant("two", "[2, 2]", "int[]"),
                 constant("ones", "[1, 1]", "int[]"), constant("g", 1),
                 repeated(levels, "%{0} : Tensor = aten::conv2d(%{1}, %w, %none, %two, %ones, %ones, %g)"), returns=f"v{levels}")


def growing_contents(levels):
    """64 elements of 60 names each, changed again and again."""
    lines = [constant("none", "None", "NoneType"), constant("false", "False", "bool"), constant("one", 1)]
    lines += [f"  %v{i} : int = aten::add(%{'n0' if i == 1 else f'v{i - 1}'}, %n{i})\n" for i in range(1, 60)]
    lines.append("  %l : int[] = prim::ListConstruct(" + ", ".join(["%v59"] * 64) + ")\n")
    lines.append("  %t0 : Tensor = aten::tensor(%l, %none, %none, %false)\n")
    lines += [f"  %t{i + 1} : Tensor = aten::add(%t{i}, %one, %one)\n" for i in range(levels)]
    return graph(", ".join(f"%n{i} : int" for i in range(60)), *lines, returns=f"t{levels}")


# ------------------------------------------------------------------------------------------------ loops

def unrolled(iterations, body):
    lines = "".join(f"      %v{i + 1} : Tensor = aten::relu(%v{i})\n" for i in range(body))
    return graph("%x : Tensor", constant("n", iterations), constant("t", "True", "bool"),
                 f"  %y : Tensor = prim::Loop(%n, %t, %x)\n    block0(%i : int, %v0 : Tensor):\n{lines}      -> (%t, %v{body})\n", returns="y")


def unrolled_constants(iterations, constants):
    """Little to do in the body, and many constants."""
    lines = "".join("    " + constant(f"c{i}", f'"{i}"', "str") for i in range(constants))
    uses = "".join(f"      acme::keep(%c{i})\n" for i in range(constants))
    return graph("%x : Tensor", constant("n", iterations), constant("t", "True", "bool"),
                 f"  %y : Tensor = prim::Loop(%n, %t, %x)\n    block0(%i : int, %v0 : Tensor):\n{lines}{uses}"
                 "      %v1 : Tensor = aten::relu(%v0)\n      -> (%t, %v1)\n", returns="y")


def unrolled_sums(iterations, sums):
    """Nothing in the body but what is known beforehand."""
    lines = "".join(f"      %s{i + 1} : int = aten::add(%s{i}, %n)\n" for i in range(sums))
    return graph("%x : Tensor", constant("n", iterations), constant("t", "True", "bool"), constant("s0", 0),
                 f"  %y : Tensor = prim::Loop(%n, %t, %x)\n    block0(%i : int, %v0 : Tensor):\n{lines}"
                 f"      %v1 : Tensor = acme::keep(%v0, {', '.join(f'%s{i}' for i in range(sums))})\n      -> (%t, %v1)\n", returns="y")


def unrolled_text(iterations, length):
    """A node that carries much text, copied."""
    return graph("%x : Tensor", constant("n", iterations), constant("t", "True", "bool"),
                 "  %y : Tensor = prim::Loop(%n, %t, %x)\n    block0(%i : int, %v0 : Tensor):\n"
                 f'      %v1 : Tensor = ^Keep[note="{"a" * length}"]()(%v0)\n      -> (%t, %v1)\n', returns="y")


def unrolled_deep(depth, iterations):
    text = "graph(%x : Tensor):\n" + constant("n", iterations) + constant("t", "True", "bool")
    for i in range(depth):
        text += f"  %r{i} : Tensor = prim::Loop(%n, %t, %{'x' if i == 0 else f'b{i - 1}'})\n    block0(%i{i} : int, %b{i} : Tensor):\n"
    text += f"      %y : Tensor = aten::relu(%b{depth - 1})\n      -> (%t, %y)\n"
    for i in reversed(range(depth - 1)):
        text += f"      -> (%t, %r{i + 1})\n"
    return text + "  return (%r0)\n"


def filled_list(iterations):
    return graph("%x : Tensor", constant("n", iterations), constant("t", "True", "bool"), "  %l : Tensor[] = prim::ListConstruct()\n",
                 "  prim::Loop(%n, %t)\n    block0(%i : int):\n      %a : Tensor[] = aten::append(%l, %x)\n      -> (%t)\n",
                 constant("zero", 0), "  %y : Tensor = aten::cat(%l, %zero)\n", returns="y")


def rotated(carried):
    """A loop that passes its values round."""
    names = [f"a{i}" for i in range(carried)]
    outputs = ", ".join(f"%r{i} : Tensor" for i in range(carried))
    inputs = ", ".join(f"%{name} : Tensor" for name in names)
    block = ", ".join(f"%b{i} : Tensor" for i in range(carried))
    turned = ", ".join(f"%b{(i + 1) % carried}" for i in range(carried))
    return graph(f"%n : int, %t : bool, {inputs}",
                 f"  {outputs} = prim::Loop(%n, %t, {', '.join('%' + name for name in names)})\n"
                 f"    block0(%i : int, {block}):\n      %w : Tensor = aten::relu_(%b0)\n      -> (%t, {turned})\n", returns="r0")


# ------------------------------------------------------------------------------------------------ width

def chain(length, op="%{0} : Tensor = aten::relu(%{1})"):
    return graph("%v0 : Tensor", repeated(length, op), returns=f"v{length}")


def dimensions_at_run_time(length, rank):
    return graph("%d : int", *[constant(f"s{i}", 2) for i in range(rank)], constant("none", "", "NoneType").replace("[value=]", ""),
                 f"  %shape : int[] = prim::ListConstruct({', '.join(f'%s{i}' for i in range(rank))})\n",
                 "  %v0 : Tensor = aten::zeros(%shape, %none, %none, %none, %none)\n",
                 repeated(length, "%{0} : Tensor = aten::cumsum(%{1}, %d, %none)"), returns=f"v{length}")


def written_part_of_many(parts):
    return graph("%i : int", constant("n", parts), constant("zero", 0), constant("one", 1), constant("none", "", "NoneType").replace("[value=]", ""),
                 "  %shape : int[] = prim::ListConstruct(%n)\n  %v : Tensor = aten::zeros(%shape, %none, %none, %none, %none)\n"
                 "  %parts : Tensor[] = aten::split(%v, %one, %zero)\n  %part : Tensor = aten::__getitem__(%parts, %i)\n"
                 "  %w : Tensor = aten::add_(%part, %one, %one)\n  %x : Tensor = aten::cat(%parts, %zero)\n")


def chain_of_writes(length):
    return chain(length, "%{0} : Tensor = aten::relu_(%{1})")


def views_and_write(length):
    """Views of views, and one write to the last."""
    return graph("%x : Tensor", constant("a", 0), constant("b", 1), "  %v0 : Tensor = aten::relu(%x)\n",
                 repeated(length, "%{0} : Tensor = aten::transpose(%{1}, %a, %b)"),
                 f"  %y : Tensor = aten::relu_(%v{length})\n", returns="v0")


def writes_to_views(length):
    return graph("%x : Tensor", constant("a", 0), constant("b", 1), "  %v0 : Tensor = aten::relu(%x)\n",
                 "".join(f"  %t{i} : Tensor = aten::transpose(%v0, %a, %b)\n  %y{i} : Tensor = aten::relu_(%t{i})\n" for i in range(length)), returns="v0")


def writes_to_deep_view(depth, length):
    """Each write to a view of views is followed by a read of the memory."""
    return graph("%x : Tensor", constant("a", 0), constant("b", 1), "  %v0 : Tensor = aten::relu(%x)\n",
                 repeated(depth, "%{0} : Tensor = aten::transpose(%{1}, %a, %b)"),
                 "".join(f"  %y{i} : Tensor = aten::relu_(%v{depth})\n  %z{i} : Tensor = aten::sigmoid(%v0)\n" for i in range(length)), returns=f"z{length - 1}")


def writes_to_one(length):
    return graph("%x : Tensor", "  %v0 : Tensor = aten::relu(%x)\n",
                 "".join(f"  %y{i} : Tensor = aten::relu_(%v0)\n" for i in range(length)), returns="v0")


def list_of_all(length):
    """All tensors in one list, and a write to each."""
    return graph("%x : Tensor", "".join(f"  %v{i} : Tensor = aten::relu(%x)\n" for i in range(length)),
                 "  %l : Tensor[] = prim::ListConstruct(" + ", ".join(f"%v{i}" for i in range(length)) + ")\n",
                 "".join(f"  %y{i} : Tensor = aten::relu_(%v{i})\n" for i in range(length)), "  %z : Tensor = acme::keep(%l)\n")


def one_used_often(length):
    return graph("%x : Tensor", constant("one", 1),
                 "".join(f"  %v{i} : int = aten::add(%one, %one)\n  %y{i} : Tensor = acme::keep(%v{i})\n" for i in range(length)))


def branches(count):
    return graph("%x : Tensor, %c : bool",
                 "".join(f"  %v{i} : Tensor = prim::If(%c)\n    block0():\n      %a{i} : Tensor = aten::relu(%x)\n      -> (%a{i})\n"
                         f"    block1():\n      %b{i} : Tensor = aten::neg(%x)\n      -> (%b{i})\n" for i in range(count)), returns=f"v{count - 1}")


def failing_in_branches(depth, failing, chain_length):
    """Nodes that fail, deep in branches whose conditions come a long way."""
    text = "graph(%x : Tensor):\n" + constant("zero", 0) + constant("one", 1) + "  %v0 : int = aten::size(%x, %zero)\n"
    text += repeated(chain_length, "%{0} : int = aten::remainder(%{1}, %one)".replace("%one", "%v0"))
    text += f"  %c : bool = aten::gt(%v{chain_length}, %one)\n"
    for i in range(depth):
        text += f"  %r{i} : bool = aten::gt(%v{chain_length - i}, %zero)\n"
    for i in range(depth):
        text += f"  prim::If(%r{i})\n  block0():\n"
    text += "".join(f"  %f{i} : Tensor = acme::fail(%x)\n" for i in range(failing))
    for i in range(depth):
        text += "  -> ()\n  block1():\n  -> ()\n"
    return text + "  return (%x)\n"


def long_number_chain(length):
    """A condition that hangs on a size through very many steps."""
    text = "graph(%x : Tensor):\n" + constant("zero", 0) + "  %v0 : int = aten::size(%x, %zero)\n"
    text += repeated(length, "%{0} : int = aten::remainder(%{1}, %v0)")
    text += f"  %c : bool = aten::gt(%v{length}, %zero)\n  %r : Tensor = prim::If(%c)\n"
    text += "    block0():\n      %f : Tensor = acme::fail(%x)\n      -> (%f)\n    block1():\n      -> (%x)\n"
    return text + "  return (%r)\n"


def wide_call(inputs):
    return graph("%x : Tensor", f"  %y : Tensor = acme::wide({', '.join(['%x'] * inputs)})\n", returns="y")


def long_name(length, count):
    """An operator of a very long name, often."""
    return graph("%x : Tensor", "".join(f"  %y{i} : Tensor = acme::{'a' * length}(%x)\n" for i in range(count)))


def refused_long_list(lists):
    """Arguments too long to be told."""
    return graph("%x : Tensor", *[constant(f"l{i}", "[" + ", ".join(str(j + i) for j in range(4000)) + "]", "int[]") +
                                  f"  %y{i} : Tensor = aten::reshape(%x, %l{i}, %l{i})\n" for i in range(lists)])


def long_constant_shown(length, uses):
    return graph("%x : Tensor", constant("l", "[" + "1, " * length + "1]", "int[]"),
                 *[f"  %y{i} : Tensor = acme::keep(%l, %x)\n" for i in range(uses)])


def wide_dict(entries):
    return graph("%x : Tensor", "".join(constant(f"k{i}", i) for i in range(entries)),
                 "  %d : Dict(int, Tensor) = prim::DictConstruct(" + ", ".join(f"%k{i}, %x" for i in range(entries)) + ")\n",
                 "  %n : int = aten::len(%d)\n  %y : Tensor = acme::keep(%n)\n", returns="y")


def filled_dict(entries):
    return graph("%x : Tensor", "".join(constant(f"k{i}", i) for i in range(entries)), "  %d : Dict(int, Tensor) = prim::DictConstruct()\n",
                 "".join(f"  aten::_set_item(%d, %k{i}, %x)\n" for i in range(entries)),
                 "  %n : int = aten::len(%d)\n  %y : Tensor = acme::keep(%n)\n", returns="y")


def constant_dict(entries, reads):
    return graph("%x : Tensor", constant("d", "{" + ", ".join(f"{i}: {i}" for i in range(entries)) + "}", "Dict(int, int)"),
                 "".join(constant(f"k{i}", i) + f"  %v{i} : int = aten::__getitem__(%d, %k{i})\n  %y{i} : Tensor = acme::keep(%v{i})\n" for i in range(reads)))


def sum_of_inputs(count):
    """Each result hangs on one input more."""
    return graph(", ".join(f"%x{i} : Tensor" for i in range(count)), constant("one", 1),
                 "".join(f"  %v{i} : Tensor = aten::add(%{'x0' if i == 1 else f'v{i - 1}'}, %x{i}, %one)\n" for i in range(1, count)), returns=f"v{count - 1}")


def wide_branch(outputs):
    names = ", ".join(f"%r{i} : Tensor" for i in range(outputs))
    def block(number, op):
        lines = "".join(f"      %b{number}_{i} : Tensor = aten::{op}(%x)\n" for i in range(2))
        return f"    block{number}():\n{lines}      -> ({', '.join(f'%b{number}_{i % 2}' if i % 3 else '%x' for i in range(outputs))})\n"
    return graph("%x : Tensor, %c : bool", f"  {names} = prim::If(%c)\n", block(0, "relu"), block(1, "neg"),
                 f"  %l : Tensor[] = prim::ListConstruct({', '.join(f'%r{i}' for i in range(outputs))})\n  %y : Tensor = acme::keep(%l)\n", returns="y")


def wide_loop(carried):
    """Half of what it carries stays as it is."""
    names = ", ".join(f"%r{i} : Tensor" for i in range(carried))
    block = ", ".join(f"%b{i} : Tensor" for i in range(carried))
    given = ", ".join(f"%b{i}" if i % 2 else "%y" for i in range(carried))
    return graph("%x : Tensor, %n : int, %t : bool",
                 f"  {names} = prim::Loop(%n, %t, {', '.join(['%x'] * carried)})\n    block0(%i : int, {block}):\n      %y : Tensor = aten::relu(%b0)\n      -> (%t, {given})\n",
                 f"  %l : Tensor[] = prim::ListConstruct({', '.join(f'%r{i}' for i in range(carried))})\n  %z : Tensor = acme::keep(%l)\n", returns="z")


def wide_tuples(width, count):
    """A tuple of many, through one branch after the other."""
    type = "(" + ", ".join(["Tensor"] * width) + ")"
    text = f"  %v0 : {type} = prim::TupleConstruct({', '.join(['%x'] * width)})\n"
    for i in range(count):
        text += f"  %v{i + 1} : {type} = prim::If(%c)\n    block0():\n      -> (%v{i})\n    block1():\n      %t{i} : {type} = acme::tuple()\n      -> (%t{i})\n"
    return graph("%x : Tensor, %c : bool", text, returns=f"v{count}")


def empty_triangle(rows):
    """Rows without a column: nothing to count."""
    return graph("%x : Tensor", constant("r", rows), constant("c", 0), constant("i", 0), constant("n", None, "NoneType"),
                 "  %y : Tensor = aten::tril_indices(%r, %c, %i, %n, %n, %n, %n)\n", returns="y")
