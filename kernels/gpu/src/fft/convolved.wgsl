// Convolutions of blocks, each within a workgroup. Another file has the ends of blocks; an entry point is
// generated.

@group(0) @binding(3) var<storage, read> roots: array<vec2f>;
// A transform, divided by its length.
@group(0) @binding(4) var<storage, read> spectrum: array<vec2f>;

fn load(transform: u32, i: u32) -> vec2f {
    return load_block(transform, i);
}

fn filtered(transform: u32, i: u32, z: vec2f) -> vec2f {
    return product(z, spectrum[i]);
}

fn store(transform: u32, i: u32, z: vec2f) {
    store_block(transform, i, z);
}
