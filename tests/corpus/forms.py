# SPDX-License-Identifier: Apache-2.0
"""What the texts of the corpora become: form_NAME makes a request (method, address, headers,
body) of a text; the other functions make texts that would be too long to write."""
import io
import json
import struct
import zipfile
import zlib
from urllib.parse import quote

JSON = {"Content-Type": "application/json"}
NPY = {"Content-Type": "application/x-npy"}
NPZ = {"Content-Type": "application/x-npz"}
RAW = {"Content-Type": "application/octet-stream"}
KNOWN = {"x": [1, 2, 3], "m": [[1, 2], [3, 4]]}  # the inputs of programs

# ---- Requests -------------------------------------------------------------------------------------


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def evaluation(**members):
    return "POST", "/v1/eval", JSON, json.dumps(members).encode()


def form_program(text):
    """A program, with x and m as inputs."""
    return evaluation(program=text, inputs=KNOWN)


def form_statements(text):
    """A program in the small language."""
    return evaluation(program=text, dialect="tensor")


def form_input(text):
    """The JSON text of an input."""
    return "POST", "/v1/eval", JSON, b'{"program": "x", "inputs": {"x": ' + as_bytes(text) + b"}}"


def form_body(text):
    """The whole body of an evaluation."""
    return "POST", "/v1/eval", JSON, as_bytes(text)


def form_members(text):
    """Further members of a request that evaluates 1."""
    return form_body('{"program": "y = 1", ' + text + "}")


def form_graph(graph):
    """A graph: JSON, or a dictionary of Python."""
    return form_body('{"graph": ' + (graph if isinstance(graph, str) else json.dumps(graph)) + "}")


def form_put_graph(text):
    """The same graph, to be stored."""
    return "PUT", "/v1/graphs/bad_graph", JSON, form_graph(text)[3]


def form_npy(data):
    """An npy file as a variable."""
    return "PUT", "/v1/variables/bad", NPY, data


def form_npy_input(data):
    """An npy file as the input x."""
    return "POST", "/v1/eval?program=x", NPY, data


def form_npz(data):
    """An npz file that is a whole evaluation."""
    return "POST", "/v1/eval", NPZ, as_bytes(data)


def form_npz_input(data):
    """An npz file whose member is the input x."""
    return "POST", "/v1/eval?program=x", NPZ, data


def form_npz_variables(data):
    """An npz file whose members are to be stored."""
    return "PUT", "/v1/variables", NPZ, data


def form_raw(parts):
    """(dtype, shape, bytes) of a raw body; None leaves a header out."""
    dtype, shape, data = parts
    said = {"Tensor-Dtype": dtype, "Tensor-Shape": shape}
    return "PUT", "/v1/variables/bad", {**RAW, **{k: v for k, v in said.items() if v is not None}}, data


def form_address(text):
    """METHOD ADDRESS [; Header: value ..] [;; BODY], a JSON body if nothing else is said."""
    head, *body = text.split(" ;; ", 1)
    first, *lines = head.split(" ; ")
    method, target = first.split(" ", 1)
    headers = dict(JSON) if body else {}
    headers.update(line.split(": ", 1) for line in lines)
    return method, target, headers, body[0].encode() if body else None


def form_headers(parts):
    """(address, headers, body) of a request that such headers come with."""
    address, headers, *body = parts
    method, target, given, data = form_address(address)
    return method, target, {**given, **headers}, body[0] if body else data


def form_name(text):
    """A name, to be stored under; percent-encoded here."""
    return "PUT", "/v1/variables/" + quote(as_bytes(text), safe=""), JSON, b"1"


def form_graph_name(text):
    """A name for a graph."""
    return "PUT", "/v1/graphs/" + quote(as_bytes(text), safe=""), JSON, b'{"program": "1"}'


def form_input_name(text):
    """A name of an input."""
    return evaluation(program="1", inputs={text: 1})


def form_store_name(text):
    """A name that a result is to be stored under."""
    return evaluation(program="y = 1", store={text: "y"})


def form_node_name(text):
    """A name of a node."""
    return form_graph({"nodes": {text: node("exp", 1)}})


def form_slice(text):
    """A slice of the stored m, [[1, 2], [3, 4]]."""
    return "GET", "/v1/variables/kept?slice=" + quote(text), {}, None


def form_patch(text):
    """The same slice, to be written to."""
    return "PATCH", "/v1/variables/kept?slice=" + quote(text), JSON, b"0"


def form_key(text):
    """The key of a getitem node on [[1, 2], [3, 4]]."""
    return form_graph({"nodes": {"a": node("getitem", [[1, 2], [3, 4]], key=text)}})


def form_subscript(text):
    """What stands between brackets in a program."""
    return form_program("m[" + text + "]")


def form_attach(text):
    """The JSON of a request to attach; @ROOT is the allowed directory, @OUT one beside it."""
    return "POST", "/v1/variables/bad/attach", JSON, as_bytes(text)


def form_attach_path(text):
    """A path to attach."""
    return form_attach(json.dumps({"path": text, "dtype": "uint8", "shape": [1]}))


# ---- A shape, wherever a request can say one --------------------------------------------------------


def lengths(text):
    """The lengths of a shape that is written "2 3 4"; "2^32" is a power."""
    return [int(w.split("^")[0]) ** int(w.split("^")[1]) if "^" in w else int(w) for w in text.split()]


def tuple_of(text):
    return "(" + "".join(f"{n}, " for n in lengths(text)) + ")"


def form_zeros(text):
    return form_program(f"zeros({tuple_of(text)})")


def form_ones_sum(text):
    return form_program(f"ones({tuple_of(text)}, dtype='int8').sum()")


def form_rand(text):
    return form_program(f"rand({tuple_of(text)}).sum()")


def form_reshape(text):
    return form_program(f"x.reshape({tuple_of(text)})")


def form_broadcast(text):
    return form_program(f"broadcast_to(1, {tuple_of(text)}).sum()")


def form_small_zero(text):
    return form_statements(f"zero({tuple_of(text)})")


def form_shape(text):
    return form_input(json.dumps({"dtype": "float64", "shape": lengths(text), "data": []}))


def form_base64_shape(text):
    return form_input(json.dumps({"dtype": "complex128", "shape": lengths(text), "base64": ""}))


def form_npy_shape(text):
    return form_npy(npy(head(shape=tuple_of(text))))


def form_npz_shape(text):
    return form_npz(npz(x__npy=npy(head(shape=tuple_of(text)))))


def form_header_shape(text):
    return form_raw(("float64", ",".join(map(str, lengths(text))), b"" if 0 in lengths(text) else b"x"))


def form_graph_zeros(text):
    return form_graph({"nodes": {"a": node("zeros", shape=lengths(text))}, "outputs": ["a"]})


def form_graph_reshape(text):
    return form_graph({"nodes": {"a": node("reshape", [1.0, 2.0], shape=lengths(text))}})


def form_graph_input(text):
    return form_put_graph({"inputs": {"x": {"shape": lengths(text)}}, "nodes": {"a": node("exp", "x")}})


def form_attach_shape(text):
    return form_attach(json.dumps({"path": "@ROOT/a.bin", "dtype": "uint8", "shape": lengths(text)}))


# ---- Graphs -----------------------------------------------------------------------------------------


def node(op, *args, **attrs):
    return {"op": op, "args": list(args), "attrs": attrs}


def chain(n):
    """n nodes, each of the one before, in an order that is the wrong way round."""
    return {"nodes": {f"n{i}": node("exp", f"n{i - 1}") for i in range(n, 0, -1)}}


def chain_of(n, op="add", first=(1.0,)):
    """n nodes; each takes the one before twice, so that the tree has 2^n leaves."""
    nodes = {"n0": node("constant", list(first))}
    nodes.update({f"n{i}": node(op, f"n{i - 1}", f"n{i - 1}") for i in range(1, n + 1)})
    return {"nodes": nodes, "outputs": [f"n{n}"]}


def nested(n):
    """A node in a node in a node."""
    return '{"nodes": {"a": ' + '{"op": "exp", "args": [' * n + "1.0" + "]}" * n + "}}"


def fan(n):
    """n nodes of one, gathered by one."""
    nodes = {"x": node("constant", [1.0]), **{f"n{i}": node("exp", "x") for i in range(n)}}
    nodes["all"] = node("concatenate", *[f"n{i}" for i in range(n)])
    return {"nodes": nodes, "outputs": ["all"]}


# ---- JSON -------------------------------------------------------------------------------------------


def members(n, value="1", width=1):
    """An object of n members whose keys are numbers."""
    return "{" + ", ".join(f'"k{i:0{width}d}": {value}' for i in range(n)) + "}"


def colliding(n):
    """An object whose keys are one to the hash that jansson had before it was seeded: times 65599
    and, what Java and others used, times 31."""
    pairs = ["Aa", "BB"]
    keys = [""]
    while len(keys) < n:
        keys = [k + p for k in keys for p in pairs]
    return "{" + ", ".join(f'"{k}": 1' for k in keys[:n]) + "}"


# ---- Files ------------------------------------------------------------------------------------------


def npy(head, data=b"", version=b"\x01\x00", magic=b"\x93NUMPY", pad=True, says=None):
    """An npy file; says: the length of the header that it claims."""
    head = as_bytes(head)
    if pad:
        head = head + b" " * (-(len(head) + 11) % 64) + b"\n"
    length = struct.pack("<H" if version[:1] == b"\x01" else "<I", len(head) if says is None else says)
    return magic + version + length + head + data


def head(descr="'<f8'", fortran="False", shape="(2,)", more=""):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, %s}" % (descr, fortran, shape, more)


GOOD = npy(head(), b"\0" * 16)


def npz(method=zipfile.ZIP_STORED, **members):
    """An npz file; in the names of members __ is a point."""
    return zipped([(name.replace("__", "."), data) for name, data in members.items()], method)


def zipped(members, method=zipfile.ZIP_STORED):
    """A zip file of (name, data), in which names may come twice."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            archive.NameToInfo.pop(name, None)  # no warning of names that come twice
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def entry(name=b"x.npy", data=GOOD, packed=None, method=0, flags=0, crc=None, size=None, packed_size=None,
          name_length=None, extra=b"", extra_length=None, signature=b"PK\3\4"):
    """One member of a zip file, with a header that says what it is told to."""
    packed = data if packed is None else packed
    return struct.pack("<4s5H3I2H", signature, 20, flags, method, 0, 33, zlib.crc32(data) if crc is None else crc,
                       len(packed) if packed_size is None else packed_size, len(data) if size is None else size,
                       len(name) if name_length is None else name_length,
                       len(extra) if extra_length is None else extra_length) + name + extra + packed


def archive(*entries, count=None, directory=True):
    """A zip file of entries, with the directory that belongs to names of one member each."""
    body, central = b"", b""
    for e in entries:
        fields = struct.unpack("<4s5H3I2H", e[:30])
        name = e[30:30 + fields[9]]
        central += struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, *fields[1:6], *fields[6:9], len(name), 0, 0, 0, 0, 0,
                               len(body)) + name
        body += e
    count = len(entries) if count is None else count
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(central), len(body), 0)
    return body + (central + end if directory else b"")


def deflated(data, level=9):
    """Raw deflate, as zip has it."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zip64(size, packed_size):
    """The extra field that says sizes in 64 bits."""
    return struct.pack("<2H2Q", 1, 16, size, packed_size)
