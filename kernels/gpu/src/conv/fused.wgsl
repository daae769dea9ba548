// Filters by transforms of blocks, all in one workgroup.

@group(0) @binding(3) var<storage, read> roots: array<vec2f>;
// The transform of the taps, divided by its length.
@group(0) @binding(4) var<storage, read> spectrum: array<vec2f>;

fn filtered(i: u32, z: vec2f) -> vec2f {
    return product(z, spectrum[i]);
}
