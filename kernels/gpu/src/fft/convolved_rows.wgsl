// The middle pass of convolutions of long blocks: rows are transformed, multiplied by a spectrum, and
// transformed back. An entry point is generated.

@group(0) @binding(0) var<storage, read> roots: array<vec2f>;
@group(0) @binding(1) var<storage, read> source: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> target_: array<vec2f>;
@group(0) @binding(3) var<storage, read> powers: array<vec2f>;
// A transform, divided by its length: number k + MATRIX_ROWS j is number j of row k.
@group(0) @binding(4) var<storage, read> spectrum: array<vec2f>;

override MATRIX_ROWS: u32 = 1u;
override MATRIX_COLUMNS: u32 = 1u;
override LOW: u32 = 1u;

fn load(transform: u32, i: u32) -> vec2f {
    return source[transform * MATRIX_COLUMNS + i];
}

fn filtered(transform: u32, i: u32, z: vec2f) -> vec2f {
    return product(z, spectrum[transform % MATRIX_ROWS * MATRIX_COLUMNS + i]);
}

fn store(transform: u32, i: u32, z: vec2f) {
    let exponent = transform % MATRIX_ROWS * i;
    let power = product(powers[exponent % LOW], powers[LOW + exponent / LOW]);
    target_[transform * MATRIX_COLUMNS + i] = product(z, conjugate(power));
}
