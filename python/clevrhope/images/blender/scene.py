"""Builds the look and the scenes in Blender.

This is one of the two modules that import bpy (the other is blend_reader.py). It runs in a worker process,
which loads the look once. After that, a scene only moves, scales, recolours, hides and shows existing
objects, so that Cycles keeps its geometry, its trees and its shaders from image to image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bpy
import mathutils
import numpy as np
import numpy.typing as npt
from PIL import Image

from clevrhope.images.blender.devices import use_device
from clevrhope.images.blender.passes import box_in_image, centre_rays, disjoint_groups
from clevrhope.images.blender.shaders import add_shader, link_object_color
from clevrhope.images.passes import BACKGROUND, Passes, check_countable, measure_passes
from clevrhope.images.placement import Placement, place_inside
from clevrhope.images.renderer import Pixels
from clevrhope.images.settings import ADAPTIVE_STEP, BlenderSettings
from clevrhope.look.blend_reader import load_part
from clevrhope.look.definition import Look
from clevrhope.look.meshes import Mesh, build_mesh


class BlenderScene:
    """The look in Blender, in which scenes are placed one after another.

    Args:
        look: camera, lights, ground, shapes and materials, and the meanings of the names in a scene.
        settings: size, samples, denoiser, device.
        threads: how many threads Cycles may use.
        gpu: the GPU to render on, {"interface", "identity", "name"}; by default the CPU.
        folder: for the image file between Blender and the reader; best in memory.
    """

    def __init__(
        self,
        look: Look,
        settings: BlenderSettings,
        *,
        threads: int,
        folder: Path,
        gpu: Mapping[str, str] | None = None,
    ) -> None:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self._scene = bpy.context.scene
        self._look = look
        self._image = folder / "image.png"
        self._objects: dict[tuple[str, str], list[Any]] = {}
        self._meshes: dict[tuple[str, str], Any] = {}
        self._materials: dict[str, Any] = {}
        data = look.look
        _build_world(data["world"])
        _build_ground(data["ground"])
        self._camera = _build_camera(data["camera"])
        self._lights = {name: _build_light(name, entry) for name, entry in data["lights"].items()}
        _configure_output(self._scene, data["render"], settings, threads)
        self._scene.render.filepath = str(self._image)
        _configure_cycles(self._scene, data["render"], settings)
        self.device = _bind(self._scene, gpu)
        self._keep_loaded()

    def render(self, scene: Mapping[str, Any]) -> Pixels:
        """The image of a scene, (height, width, 3) uint8 sRGB.

        Raises:
            SceneError: the scene names something that is not in the look, or an object is outside the world.
        """
        self._place(self._placement(scene))
        self._image.unlink(missing_ok=True)  # so that a failed write never returns the earlier image
        _draw()
        with Image.open(self._image, formats=("PNG",)) as image:
            return np.asarray(image.convert("RGB"))

    def passes(self, scene: Mapping[str, Any]) -> Passes:
        """Renders the annotations of a scene.

        The pixels that objects would have alone come from a few more renders, each of several objects that
        are too far apart to hide each other; an object with no other near it needs none.

        Raises:
            SceneError: as for `render`, or there are more objects than a mask can number.
        """
        placement = self._placement(scene)
        check_countable(len(placement.things))
        bodies = self._place(placement)
        with centre_rays(self._scene, list(self._lights.values()), self._image.parent, _draw) as look:
            found = look()
            alone_px = _counts(found.index, len(bodies))
            render, lens = self._scene.render, self._look.look["camera"]
            size = (render.resolution_x, render.resolution_y)
            boxes = [box_in_image(_corners(body), placement.camera, lens, *size) for body in bodies]
            for group in disjoint_groups(boxes):
                for number, body in enumerate(bodies):
                    body.hide_render = number not in group
                alone_px[group] = _counts(look().index, len(bodies))[group]
        mask = np.where(found.index == 0, BACKGROUND, found.index - 1).astype(np.uint8)
        return measure_passes(mask, found.depth, found.normal, alone_px)

    def _placement(self, scene: Mapping[str, Any]) -> Placement:
        render = self._scene.render
        width_px, height_px = render.resolution_x, render.resolution_y
        return place_inside(scene, self._look, width_px=width_px, height_px=height_px)

    def _place(self, placement: Placement) -> list[Any]:
        """Moves everything to its place; returns Blender's objects in the order of the scene's."""
        _aim(self._camera, placement.camera, self._look.look["camera"]["target"])
        for name, location in placement.lights.items():
            _aim(self._lights[name], location, self._look.look["lights"][name]["target"])
        used: dict[tuple[str, str], int] = {}
        placed = []
        for index, thing in enumerate(placement.things):
            kind = (thing.shape, thing.material)
            body = self._object(kind, used.get(kind, 0))
            used[kind] = used.get(kind, 0) + 1
            body.location = thing.location
            body.rotation_euler = (0.0, 0.0, thing.rotation_z_rad)
            body.scale = (thing.radius, thing.radius, thing.radius)
            body.color = (*thing.color, 1.0)
            body.pass_index = index + 1
            body.hide_render = False
            placed.append(body)
        for kind, bodies in self._objects.items():
            for body in bodies[used.get(kind, 0) :]:
                body.hide_render = True
        return placed

    def _object(self, kind: tuple[str, str], number: int) -> Any:
        """The object with this number among those of its shape and material, made on first use."""
        bodies = self._objects.setdefault(kind, [])
        while len(bodies) <= number:
            body = bpy.data.objects.new(f"{kind[0]} {kind[1]} {len(bodies)}", self._mesh(*kind))
            self._scene.collection.objects.link(body)
            bodies.append(body)
        return bodies[number]

    def _mesh(self, shape: str, material: str) -> Any:
        if (shape, material) not in self._meshes:
            mesh = _to_blender(build_mesh(self._look.shapes[shape]), f"{shape} {material}")
            mesh.materials.append(self._material(material))
            self._meshes[shape, material] = mesh
        return self._meshes[shape, material]

    def _material(self, name: str) -> Any:
        if name not in self._materials:
            entry = self._look.materials[name]
            self._materials[name] = (
                load_material(entry["blend"]) if "blend" in entry else build_material(name, entry["shader"])
            )
        return self._materials[name]

    def _keep_loaded(self) -> None:
        """Keeps one object of each shape and material that no ray can hit, so that Cycles keeps its mesh.

        Cycles drops a mesh, and the tree built over it, when no object in the scene uses it.
        """
        for shape in self._look.properties["shapes"].values():
            for material in self._look.properties["materials"].values():
                body = bpy.data.objects.new(f"keeps {shape} {material}", self._mesh(shape, material))
                for rays in ("camera", "diffuse", "glossy", "transmission", "shadow"):
                    setattr(body, f"visible_{rays}", False)
                # They stay visible to rays scattered in volumes, of which the look has none.
                self._scene.collection.objects.link(body)


def _draw() -> None:
    """Renders the scene into its file."""
    bpy.ops.render.render(write_still=True)


def _corners(body: Any) -> npt.NDArray[np.float64]:
    """The corners of a body's bounding box in the world, (8, 3)."""
    turn = mathutils.Matrix.LocRotScale(body.location, body.rotation_euler, body.scale)
    return np.asarray([turn @ mathutils.Vector(corner) for corner in body.bound_box])


def _counts(index: npt.NDArray[np.int32], n_objects: int) -> npt.NDArray[np.int64]:
    """The number of pixels of each object, (n_objects,)."""
    return np.bincount(index.ravel(), minlength=n_objects + 1)[1 : n_objects + 1]


def build_material(name: str, shader: Mapping[str, Any]) -> Any:
    """A material from its shader graph in look.json: nested nodes, see `shaders`."""
    return _new_material(name, lambda tree: add_shader(tree, shader))


def load_material(entry: Mapping[str, str]) -> Any:
    """A material from a .blend file, as blend_files.py names it.

    CLEVR's materials are groups of nodes; such a group gets the object's colour if it has an input for it.
    """
    found = load_part(entry["path"], entry["what"], entry["name"])
    if entry["what"] == "materials":
        return found

    def surface(tree: Any) -> Any:
        group = tree.nodes.new("ShaderNodeGroup")
        group.node_tree = found
        if "Color" in group.inputs:
            link_object_color(tree, group.inputs["Color"])
        return group

    return _new_material(found.name, surface)


def _new_material(name: str, surface: Callable[[Any], Any]) -> Any:
    """A material whose surface is the first output of the node that `surface` creates in its tree."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(surface(tree).outputs[0], output.inputs["Surface"])
    return material


def _to_blender(mesh: Mesh, name: str) -> Any:
    data = bpy.data.meshes.new(name)
    faces = [face for group in mesh.faces for face in group.tolist()]
    data.from_pydata(mesh.vertices.tolist(), [], faces)
    data.polygons.foreach_set("use_smooth", np.full(len(faces), mesh.smooth))
    data.update()
    if mesh.smooth_angle_deg is not None:
        data.set_sharp_from_angle(angle=math.radians(mesh.smooth_angle_deg))
    if mesh.corner_normals is not None:
        data.normals_split_custom_set(mesh.corner_normals.tolist())
    return data


def _build_world(entry: Mapping[str, Any]) -> None:
    world = bpy.data.worlds.new("world")
    world.use_nodes = True
    background = world.node_tree.nodes["Background"]
    background.inputs["Strength"].default_value = entry["background_strength"]
    background.inputs["Color"].default_value = (*entry.get("background_color", (1.0, 1.0, 1.0)), 1.0)
    bpy.context.scene.world = world


def _build_ground(entry: Mapping[str, Any]) -> None:
    mesh = _to_blender(build_mesh(entry), "ground")
    matte = {"node": "diffuse", "color": entry["color"], "roughness": entry.get("roughness", 0.0)}
    mesh.materials.append(build_material("ground", matte))
    ground = bpy.data.objects.new("ground", mesh)
    ground.rotation_euler = (0.0, 0.0, entry["rotation_z_rad"])
    ground.location = entry["translation"]
    bpy.context.scene.collection.objects.link(ground)


def _build_camera(entry: Mapping[str, Any]) -> Any:
    data = bpy.data.cameras.new("camera")
    data.lens = entry["lens_mm"]
    data.sensor_width = entry["sensor_width_mm"]
    data.sensor_fit = "AUTO"
    data.clip_start, data.clip_end = entry["clip"]
    camera = bpy.data.objects.new("camera", data)
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    _aim(camera, entry["location"], entry["target"])
    return camera


def _build_light(name: str, entry: Mapping[str, Any]) -> Any:
    if entry["kind"] == "area":
        data = bpy.data.lights.new(name, "AREA")
        data.shape = "SQUARE"
        data.size = entry["size"]
        data.energy = entry["power_w"]
    else:
        data = bpy.data.lights.new(name, "SUN")
        data.angle = entry["angle_rad"]
        data.energy = entry["strength_w_m2"]
    data.color = entry["color"]
    light = bpy.data.objects.new(name, data)
    light.visible_camera = False
    bpy.context.scene.collection.objects.link(light)
    if "target" in entry:
        _aim(light, entry["location"], entry["target"])
    else:
        light.rotation_euler = entry["rotation_rad"]
    return light


def _aim(thing: Any, location: Any, target: Any) -> None:
    """Puts a camera or light at a location, pointed at the target: -Z forward, Y up."""
    forward = mathutils.Vector(target) - mathutils.Vector(location)
    thing.location = location
    thing.rotation_mode = "QUATERNION"
    thing.rotation_quaternion = forward.to_track_quat("-Z", "Y")


def _configure_output(scene: Any, entry: Mapping[str, Any], settings: BlenderSettings, threads: int) -> None:
    render = scene.render
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y = settings.width, settings.height
    render.resolution_percentage = 100
    render.threads_mode = "FIXED"
    render.threads = threads
    render.use_persistent_data = True
    render.dither_intensity = entry["dither"]
    render.filter_size = entry["pixel_filter"]["width_px"]
    render.use_file_extension = False
    render.use_compositing = False
    render.use_sequencer = False
    render.image_settings.file_format = "PNG"
    render.image_settings.compression = 0  # PNG takes 5 ms longer than TGA, but records Cycles' times
    render.image_settings.color_mode = "RGB"
    scene.display_settings.display_device = entry["display_device"]
    scene.view_settings.view_transform = entry["view_transform"]
    scene.view_settings.look = "None"
    scene.view_settings.exposure = 0.0
    scene.view_settings.gamma = 1.0


def _configure_cycles(scene: Any, entry: Mapping[str, Any], settings: BlenderSettings) -> None:
    cycles = scene.cycles
    cycles.seed = 0
    cycles.samples = settings.samples
    # A light tree takes over a quarter of an image's time. It gains only 0.3 dB with the denoiser,
    # and 2.7 dB without it.
    cycles.use_light_tree = not settings.denoise
    # Cycles' default sampler computes its numbers anew for each dimension: 6% of the time, with no gain.
    cycles.sampling_pattern = "TABULATED_SOBOL" if settings.denoise else "AUTOMATIC"
    # With at most this many samples, the image is the same except for rounding, in a thirtieth less time.
    asks = settings.samples > ADAPTIVE_STEP
    cycles.use_adaptive_sampling = asks and settings.adaptive_threshold > 0.0
    cycles.adaptive_threshold = settings.adaptive_threshold
    cycles.adaptive_min_samples = settings.adaptive_min_samples
    cycles.use_denoising = settings.denoise
    cycles.denoiser = "OPENIMAGEDENOISE"
    cycles.denoising_prefilter = settings.prefilter.upper()
    cycles.denoising_quality = settings.denoise_quality.upper()
    cycles.blur_glossy = entry["blur_glossy"]
    cycles.max_bounces = entry["bounces"]["max"]
    cycles.diffuse_bounces = entry["bounces"]["diffuse"]
    cycles.glossy_bounces = entry["bounces"]["glossy"]
    cycles.transparent_max_bounces = entry["bounces"]["transparent"]
    cycles.sample_clamp_direct = entry["sample_clamp"]
    cycles.sample_clamp_indirect = entry["sample_clamp"]
    cycles.pixel_filter_type = entry["pixel_filter"]["kind"].upper()
    cycles.filter_width = entry["pixel_filter"]["width_px"]
    cycles.film_exposure = entry["film_exposure"]


def _bind(scene: Any, gpu: Mapping[str, str] | None) -> str:
    """Sets Cycles to one GPU (also for the denoiser, if it can), or to the CPU; returns the device's name."""
    scene.cycles.device = "GPU" if gpu else "CPU"
    scene.cycles.denoising_use_gpu = gpu is not None and use_device(
        cycles_preferences(), gpu["interface"], gpu["identity"]
    )
    return gpu["name"] if gpu else "CPU"


def cycles_preferences() -> Any:
    """Cycles' preferences, which list the devices and select those to use."""
    return bpy.context.preferences.addons["cycles"].preferences
