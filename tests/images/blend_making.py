"""A program that writes the .blend files of the tests; it runs where bpy may be imported."""

MAKER = """
import sys
from pathlib import Path
import bpy

folder = Path(sys.argv[1])

def begin():
    bpy.ops.wm.read_factory_settings(use_empty=True)

def save(name):
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / name), compress=name.startswith("Pyramid"))

def mesh(name, vertices, faces, *, thing=True):
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices, [], faces)
    if thing:
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, data))
    else:
        data.use_fake_user = True
    return data

BASE = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)]
PYRAMID = [(0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]

begin(); mesh("Pyramid", [*BASE, (0, 0, 1)], PYRAMID); save("Pyramid.blend")
begin(); mesh("Other", [*BASE, (0, 0, 0.5)], PYRAMID, thing=False); save("OnlyMesh.blend")
# A cube whose upper side is pushed in.
TOP = [(x, y, 1) for x, y, _ in BASE]
SIDES = [(0, 3, 2, 1), *((k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4))]
DENT = [(4 + k, 4 + (k + 1) % 4, 8) for k in range(4)]
begin(); mesh("Dented", [*BASE, *TOP, (0, 0, 0)], [*SIDES, *DENT]); save("Dented.blend")
# Two posts and what lies on them: one face each side, so the front is no convex polygon.
FRONT = [(-1, -1), (-0.7, -1), (-0.7, 0.7), (0.7, 0.7), (0.7, -1), (1, -1), (1, 1), (-1, 1)]
ARCH = [(x, y, z) for y in (-0.5, 0.5) for x, z in FRONT]
AROUND = [(k, k + 8, (k + 1) % 8 + 8, (k + 1) % 8) for k in range(8)]
begin(); mesh("Arch", ARCH, [tuple(range(8)), tuple(range(15, 7, -1)), *AROUND]); save("Arch.blend")
UP = [(x, y, z + 0.5) for x, y, z in [*BASE, (0, 0, 1)]]
begin(); mesh("Floating", UP, PYRAMID); save("Floating.blend")
begin(); mesh("A", [*BASE, (0, 0, 1)], PYRAMID); mesh("B", [*BASE, (0, 0, 1)], PYRAMID); save("Several.blend")
begin(); save("Empty.blend")
# Half a cube, whose other half is a modifier's.
begin()
HALF = [(max(x, 0), y, z) for x, y, z in [*BASE, *TOP]]
mesh("Modified", HALF, SIDES)
bpy.data.objects["Modified"].modifiers.new("other half", "MIRROR")
save("Modified.blend")

begin()
group = bpy.data.node_groups.new("Glow", "ShaderNodeTree"); group.use_fake_user = True
group.interface.new_socket("Color", in_out="INPUT", socket_type="NodeSocketColor")
group.interface.new_socket("Shader", in_out="OUTPUT", socket_type="NodeSocketShader")
enter, leave = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
glow = group.nodes.new("ShaderNodeEmission")
group.links.new(enter.outputs["Color"], glow.inputs["Color"])
group.links.new(glow.outputs[0], leave.inputs["Shader"])
save("Glow.blend")

begin()
white = bpy.data.materials.new("Blank"); white.use_fake_user = True; white.use_nodes = True
tree = white.node_tree; tree.nodes.clear()
glow, output = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeOutputMaterial")
glow.inputs["Color"].default_value = (1, 1, 1, 1); glow.inputs["Strength"].default_value = 5
tree.links.new(glow.outputs[0], output.inputs["Surface"])
save("Blank.blend")

# What would run if it could: a text when it is loaded, a driver's expression, the text's function in one.
def drive(place, channel, expression, *index):
    driver = place.driver_add(channel, *index).driver
    driver.type, driver.expression = "SCRIPTED", expression

def write_mark():
    text = bpy.data.texts.new("register.py"); text.use_module = True; text.use_fake_user = True
    text.write(f"import bpy\\nopen({MARK!r}, 'w')\\n")
    text.write(f"bpy.app.driver_namespace['mark'] = lambda: open({MARK!r}, 'w')")

MARK = str(folder / "it ran")
WRITE = f"__import__('pathlib').Path({MARK!r}).write_text('')"
begin(); write_mark()
driven = mesh("Driven", [*BASE, (0, 0, 1)], PYRAMID)
thing = bpy.data.objects["Driven"]
bpy.context.scene.collection.objects.unlink(thing); thing.use_fake_user = True
drive(thing, "location", WRITE, 0); drive(thing, "location", "mark() or 1", 1)
drive(thing.modifiers.new("array", "ARRAY"), "count", "len('abc')")
thing.modifiers["array"].count = 1
save("Driven.blend")
begin(); write_mark()
paint = bpy.data.materials.new("Paint"); paint.use_fake_user = True; paint.use_nodes = True
shader = paint.node_tree.nodes["Principled BSDF"]
shader.inputs["Base Color"].default_value = (0, 1, 0, 1)
drive(shader.inputs["Roughness"], "default_value", WRITE)
drive(shader.inputs["Metallic"], "default_value", "mark() or 1")
drive(shader.inputs["Base Color"], "default_value", "float(len('a'))", 2)
save("Paint.blend")

begin()
with bpy.data.libraries.load(str(folder / "Pyramid.blend"), link=True) as (_, wanted):
    wanted.meshes = ["Pyramid"]
thing = bpy.data.objects.new("Linked", wanted.meshes[0]); thing.use_fake_user = True
save("Linked.blend")
begin()
for name, kind, field, value in (("Slow", "SMOOTH", "iterations", 30_000), ("Huge", "SUBSURF", "levels", 6)):
    mesh(name, [*BASE, (0, 0, 1)] * 500, PYRAMID)
    thing = bpy.data.objects[name]
    bpy.context.scene.collection.objects.unlink(thing); thing.use_fake_user = True
    for _ in range(90):
        setattr(thing.modifiers.new(kind, kind), field, value)
    save(f"{name}.blend")
    begin()
"""
