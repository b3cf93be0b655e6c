"""Bad models, each built from its description: `cases()` gives name -> (codes, files, arguments).

Files are bytes by relative path; the model is "m.onnx". Every case has to end with status 2 and one line that starts with
one of the codes. Nothing here is random, so a failing case can be written out with `python make.py FOLDER`.
"""

import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper


def value(name, shape, element=T.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, initializers=(), inputs=None, outputs=None, opset=17, functions=(), domains=()):
    graph = helper.make_graph(
        list(nodes), "g", inputs or [value("x", [2, 3])], outputs or [value("y", None)], list(initializers)
    )
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in domains]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    made.ir_version = 8
    return made


def node(op, inputs=("x",), outputs=("y",), **attrs):
    return helper.make_node(op, list(inputs), list(outputs), **attrs)


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def raw(dims, kind=T.FLOAT, data=b"", name="w"):
    return T(name=name, data_type=kind, dims=dims, raw_data=data)


def external(location, **entries):
    tensor = T(name="w", data_type=T.FLOAT, dims=[4], data_location=T.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=text)
    return model([node("Identity", ["w"])], [tensor])


def nested(depth):
    """A graph in an attribute in a node in a graph ..."""
    payload = b""
    for _ in range(depth):
        payload = field(1, field(5, field(6, payload)))  # node { attribute { g { ... } } }
    return b"\x08\x08" + field(7, payload) + field(8, b"\x10\x11")


def chain(n):
    """Functions f0 -> f1 -> ... -> fn."""
    functions = []
    for i in range(n):
        body = node(f"f{i + 1}", ["a"], ["b"], domain="d") if i + 1 < n else node("Relu", ["a"], ["b"])
        functions.append(
            helper.make_function(
                "d", f"f{i}", ["a"], ["b"], [body], [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
            )
        )
    return model([node("f0", domain="d")], functions=functions, domains=[("d", 1)])


def doubling(n):
    functions = []
    for i in range(n):
        inner = f"f{i + 1}"
        body = (
            [node(inner, ["a"], ["t"], domain="d"), node(inner, ["t"], ["b"], domain="d")]
            if i + 1 < n
            else [node("Relu", ["a"], ["b"])]
        )
        functions.append(
            helper.make_function(
                "d", f"f{i}", ["a"], ["b"], body, [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
            )
        )
    return model([node("f0", domain="d")], functions=functions, domains=[("d", 1)])


def cases():
    out = {}

    def add(name, codes, made, files=None, args=()):
        data = made if isinstance(made, bytes) else made.SerializeToString()
        out[name] = (codes.split(), {"m.onnx": data, **(files or {})}, list(args))

    # 1: no model
    add("01_empty", "I001", b"")
    add("01_one_byte", "I001", b"\x00")
    add("01_png", "I001", b"\x89PNG\r\n\x1a\n" + bytes(100))
    add("01_text", "I001", b"hello, this is text\n" * 10)
    add("01_gzip", "I001", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + bytes(50))
    add("01_no_graph", "I001", b"\x08\x08" + field(2, b"me"))
    add("01_two_graphs", "I002", b"\x08\x08" + field(7, b"") + field(7, b"") + field(8, b"\x10\x11"))
    add("01_length_past_end", "I001 I002", b"\x08\x08" + b"\x3a\xff\xff\xff\xff\x0f")
    add("01_endless_varint", "I001 I002", b"\x08" + b"\xff" * 11)
    # 3, 4: nesting
    add("03_nested_10000", "I003", nested(10000))
    add("04_chain_3000", "I009", chain(3000))
    add(
        "04_calls_itself",
        "I009",
        model(
            [node("f", domain="d")],
            functions=[
                helper.make_function(
                    "d",
                    "f",
                    ["a"],
                    ["b"],
                    [node("f", ["a"], ["b"], domain="d")],
                    [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)],
                )
            ],
            domains=[("d", 1)],
        ),
    )
    add("04_doubling_60", "I004", doubling(60))
    # 5, 6: order and names
    add(
        "05_cycle",
        "I011",
        model(
            [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second"), node("Relu", ["b"])]
        ),
    )
    add("05_later", "I011", model([node("Relu", ["a"]), node("Relu", ["x"], ["a"])]))
    add("05_never", "I011", model([node("Relu", ["nowhere"])]))
    add("05_output_never", "I011", model([node("Relu", ["x"], ["z"])]))
    add("06_two_definitions", "I010", model([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"])]))
    add("06_defines_input", "I010", model([node("Relu", ["x"], ["x"])], outputs=[value("x", None)]))
    add("06_two_inputs", "I010", model([node("Relu")], inputs=[value("x", [1]), value("x", [1])]))
    add("06_two_initializers", "I010", model([node("Relu")], [raw([1], data=bytes(4)), raw([1], data=bytes(4))]))
    add("06_input_without_name", "I011", model([node("Relu")], inputs=[value("", [1]), value("x", [1])]))
    then = helper.make_graph([node("Relu", ["x"], ["x"])], "t", [], [value("x", None)])
    add(
        "06_shadowing",
        "I010",
        model(
            [node("If", ["c"], ["y"], then_branch=then, else_branch=then)], [numpy_helper.from_array(np.array(True), "c")]
        ),
    )
    # 7, 8, 9: sizes and data
    add("07_product_overflows", "I012", model([node("Identity", ["w"])], [raw([2**62, 4])]))
    add("07_product_wraps_to_8", "I012", model([node("Identity", ["w"])], [raw([2**31 - 1] * 3 + [8], data=bytes(32))]))
    add("07_negative", "I012", model([node("Identity", ["w"])], [raw([-5])]))
    add("07_rank_9", "I012", model([node("Identity", ["w"])], [raw([1] * 9, data=bytes(4))]))
    add("07_input_negative", "I012", model([node("Relu")], inputs=[value("x", [-7])]))
    add("07_input_huge", "I012", model([node("Relu")], inputs=[value("x", [2**31 - 1, 2**31 - 1])]))
    add("07_input_rank_9", "I012", model([node("Relu")], inputs=[value("x", [1] * 9)]))
    add("08_raw_short", "I013", model([node("Identity", ["w"])], [raw([4], data=bytes(15))]))
    add("08_raw_long", "I013", model([node("Identity", ["w"])], [raw([400], data=bytes(1604))]))
    add("08_int4_odd", "I013", model([node("Identity", ["w"])], [raw([5], T.INT4, bytes(2))], opset=21))
    two = raw([1], data=bytes(4))
    two.float_data.append(1)
    add("08_two_fields", "I013", model([node("Identity", ["w"])], [two]))
    wrong = T(name="w", data_type=T.FLOAT, dims=[1])
    wrong.int64_data.append(1)
    add("08_wrong_field", "I013", model([node("Identity", ["w"])], [wrong]))
    overflow = T(name="w", data_type=T.INT8, dims=[1])
    overflow.int32_data.append(300)
    add("08_number_too_large", "I013", model([node("Identity", ["w"])], [overflow]))
    add("08_no_data", "I013", model([node("Identity", ["w"])], [T(name="w", data_type=T.FLOAT, dims=[3])]))
    add("08_no_type", "I014", model([node("Identity", ["w"])], [T(name="w", dims=[1], raw_data=bytes(4))]))
    add(
        "08_unknown_type",
        "I014",
        model([node("Identity", ["w"])], [T(name="w", dims=[1], data_type=9999, raw_data=bytes(4))]),
    )
    add("09_claims_1_tb", "I013", model([node("Identity", ["w"])], [raw([1 << 19, 1 << 19], data=bytes(64))]))
    add("09_external_claims_1_tb", "I016", _claim(external("w.bin"), [1 << 19, 1 << 19]), {"w.bin": bytes(64)})
    forged = raw([4])
    forged.ClearField("raw_data")
    forged.external_data.add(key="\x01mopt.range", value="9 0 16")
    add("09_forged_range", "I002", model([node("Identity", ["w"])], [forged]))
    # 10, 12: external data
    for i, path in enumerate(
        [
            "../secret",
            "/etc/shadow",
            "C:\\x",
            "a/../../secret",
            "sub/../../secret",
            "a\0b",
            "",
            ".",
            "..",
            "\\\\host\\share",
            "x" * 1000,
        ]
    ):
        add(f"10_location_{i}", "I015", external(path), {"sub/keep": b""})
    add("10_missing", "I015", external("no.bin"))
    add("10_directory", "I015", external("sub"), {"sub/keep": b""})
    data = {"w.bin": bytes(16)}
    add("12_offset_negative", "I016", external("w.bin", offset="-4"), data)
    add("12_offset_past_end", "I016", external("w.bin", offset="17"), data)
    add("12_sum_overflows", "I016", external("w.bin", offset="9223372036854775807", length="16"), data)
    add("12_length_past_end", "I016", external("w.bin", offset="4", length="16"), data)
    add("12_length_other", "I013", external("w.bin", length="8"), data)
    add("12_offset_text", "I016", external("w.bin", offset="0x10"), data)
    twice = external("w.bin", offset="0")
    twice.graph.initializer[0].external_data.add(key="offset", value="0")
    add("12_key_twice", "I016", twice, data)
    no_location = external("w.bin")
    del no_location.graph.initializer[0].external_data[:]
    add("12_no_location", "I015", no_location)
    # 14: attributes that no arithmetic may see
    image, weight = [value("x", [1, 4, 8, 8])], raw([4, 4, 3, 3], data=bytes(576))

    def conv(**attrs):
        return model([node("Conv", ["x", "w"], **attrs)], [weight], inputs=image)

    shape = "S001 S002 S004 S006 S007 S009 S010 S012 S013 S018"
    add("14_stride_0", shape, conv(strides=[0, 1]))
    add("14_group_0", shape, conv(group=0))
    add("14_group_3", shape, conv(group=3))
    add("14_group_negative", shape, conv(group=-1))
    add("14_dilation_huge", shape, conv(dilations=[2**62, 1]))
    add("14_stride_min", shape, conv(strides=[-(2**63), 1]))
    add("14_pads_negative", shape, conv(pads=[-9, -9, -9, -9]))
    add("14_pads_max", shape, conv(pads=[2**63 - 1] * 4))
    add("14_kernel_0", shape, model([node("MaxPool", kernel_shape=[0, 0])], inputs=image))
    add("14_kernel_larger", shape, model([node("MaxPool", kernel_shape=[9, 9])], inputs=image))
    add("14_kernel_rank", shape, model([node("MaxPool", kernel_shape=[3])], inputs=image))
    add("14_block_0", shape, model([node("SpaceToDepth", blocksize=0)], inputs=image))
    add("14_block_min", shape, model([node("DepthToSpace", blocksize=-(2**63))], inputs=image))
    add("14_axis", shape, model([node("Softmax", axis=4)], inputs=image))
    add("14_axis_min", shape, model([node("Softmax", axis=-(2**63))], inputs=image))
    add("14_concat_axis", shape, model([node("Concat", ["x", "x"], axis=7)], inputs=image))
    add("14_perm_repeats", shape, model([node("Transpose", perm=[0, 0, 1, 2])], inputs=image))
    add("14_perm_short", shape, model([node("Transpose", perm=[0, 1])], inputs=image))
    add("14_flatten_axis", shape, model([node("Flatten", axis=9)], inputs=image))

    # 15, 16: indices and shapes that are constants
    def reshape(target, **attrs):
        return model(
            [node("Reshape", ["x", "s"], **attrs)], [numpy_helper.from_array(np.array(target, np.int64), "s")], inputs=image
        )

    add("16_two_unknown", "S002 S009 S014", reshape([-1, -1]))
    add("16_product", "S014", reshape([7, 7]))
    add("16_overflow", "S002 S005 S014 I004", reshape([2**62, 4]))
    add("16_negative", "S002 S009 S014", reshape([-3, 4]))
    add("16_copy_past_rank", "S002 S009 S014", reshape([1, 4, 8, 8, 0]))
    add(
        "16_expand_huge",
        "S001 S002 S005 I004",
        model(
            [node("Expand", ["x", "s"])],
            [numpy_helper.from_array(np.array([2**20, 4, 2**20, 8], np.int64), "s")],
            inputs=image,
        ),
    )
    add(
        "16_tile_huge",
        "S001 S002 S005 I004",
        model(
            [node("Tile", ["x", "s"])], [numpy_helper.from_array(np.array([2**40, 1, 1, 1], np.int64), "s")], inputs=image
        ),
    )
    add(
        "16_constant_of_shape_huge",
        "S002 S005 I004",
        model([node("ConstantOfShape", ["s"])], [numpy_helper.from_array(np.array([2**40], np.int64), "s")]),
    )
    # 17: control flow
    body = helper.make_graph(
        [node("Identity", ["c"], ["c2"]), node("Identity", ["v"], ["v2"])],
        "b",
        [value("i", [], T.INT64), value("c", [], T.BOOL), value("v", [2, 3])],
        [value("c2", [], T.BOOL), value("v2", [2, 3])],
    )
    add("17_endless_loop", "I008 I021", model([node("Loop", ["", "", "x"], ["y"], body=body)]))
    add(
        "17_if_at_run_time",
        "I021",
        model(
            [node("If", ["c"], ["y"], then_branch=then, else_branch=then)], inputs=[value("x", [2]), value("c", [], T.BOOL)]
        ),
    )
    # 18: versions and operators
    add(
        "18_unknown_ops",
        "I008",
        model([node("Foo", name="n1", outputs=["a"]), node("Bar", ["a"], name="n2", domain="z")], domains=[("z", 1)]),
    )
    add("18_unimported_domain", "I008", model([node("Bar", domain="z")]))
    add("18_opset_0", "I007", model([node("Relu")], opset=0))
    add("18_opset_999", "I007", model([node("Relu")], opset=999))
    no_imports = model([node("Relu")])
    del no_imports.opset_import[:]
    add("18_no_imports", "I007", no_imports)
    future = model([node("Relu")])
    future.ir_version = 99
    add("18_ir_99", "I006", future)
    # 19: types
    add("19_missing_input", "I019", model([node("Add", ["x"])]))
    add("19_too_many_inputs", "I019", model([node("Relu", ["x", "x"])]))
    add("19_too_many_outputs", "I019", model([node("Relu", ["x"], ["y", "z"])]))
    add("19_string_input", "I022 I020", model([node("Relu")], inputs=[value("x", [1], T.STRING)]))
    add("19_type_0", "I022", model([node("Relu")], inputs=[value("x", [1], 0)]))
    add("19_types_differ", "I020", model([node("Add", ["x", "z"])], inputs=[value("x", [1]), value("z", [1], T.INT64)]))
    add("19_bool_relu", "I020", model([node("Relu")], inputs=[value("x", [1], T.BOOL)]))
    kind = model([node("Softmax", axis=1)])
    attr = kind.graph.node[0].attribute[0]
    attr.type, attr.f = onnx.AttributeProto.FLOAT, 1.0
    attr.ClearField("i")
    add("19_attribute_kind", "I018", kind)
    repeated = model([node("Softmax", axis=1)])
    repeated.graph.node[0].attribute.append(repeated.graph.node[0].attribute[0])
    add("19_attribute_twice", "I018", repeated)
    add("19_attribute_unknown", "I018", model([node("Relu", hello=1)]))
    add("19_attribute_missing", "I018", model([node("Cast")]))
    add("19_choice", "I018", conv(auto_pad="SIDEWAYS"))
    add("19_cast_to_999", "I014", model([node("Cast", to=999)]))
    add("19_unknown_rank", "I033", model([node("Relu")], inputs=[value("x", None)]))
    add("19_declared_type_differs", "I020", model([node("Relu")], outputs=[value("y", None, T.INT64)]))
    # 21: names
    add("21_long_name", "I004", model([node("Relu", ["x"], ["y" * 5000]), node("Relu", ["y" * 5000])]))
    add("21_hostile_name", "I008", model([node("Nope", name="a\nb\x1b[31m<script>%s%n" + "z" * 900)]))
    invalid = model([node("Nope", name="QQQQ")]).SerializeToString().replace(b"QQQQ", b"\xff\xfe\x80\xc0")
    add("21_invalid_utf8", "I008", invalid)
    bits = struct.pack("<IIII", 0x7FC00000, 0x7F800000, 0x00000001, 0xFF800000)
    out["21_nan_weights_are_fine"] = (
        [],
        {"m.onnx": model([node("Identity", ["w"])], [raw([4], data=bits)]).SerializeToString()},
        [],
    )
    return out


def _claim(made, dims):
    del made.graph.initializer[0].dims[:]
    made.graph.initializer[0].dims.extend(dims)
    return made


if __name__ == "__main__":
    import pathlib

    for name, (_, files, _) in cases().items():
        for path, data in files.items():
            target = pathlib.Path(sys.argv[1]) / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
