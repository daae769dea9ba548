// Convolutions of long blocks, which are matrices row by row: the first pass transforms columns, the last one
// transforms them back. Another file has the ends of blocks; an entry point is generated.

@group(0) @binding(3) var<storage, read> roots: array<vec2f>;
// The powers of a root by their exponent: first of its low part, then of its high part.
@group(0) @binding(4) var<storage, read> powers: array<vec2f>;
@group(0) @binding(5) var<storage, read> convolved: array<vec2f>;
@group(0) @binding(6) var<storage, read_write> transformed: array<vec2f>;

override MATRIX_ROWS: u32 = 1u;
override MATRIX_COLUMNS: u32 = 1u;
// Low parts of exponents, a power of two.
override LOW: u32 = 1u;
// True for the last pass.
override LAST: bool = false;

override SIZE: u32 = MATRIX_ROWS * MATRIX_COLUMNS;

fn load(transform: u32, i: u32) -> vec2f {
    let block = transform / MATRIX_COLUMNS;
    let at = i * MATRIX_COLUMNS + transform % MATRIX_COLUMNS;
    if LAST {
        return conjugate(convolved[block * SIZE + at]);
    }
    return load_block(block, at);
}

fn store(transform: u32, i: u32, z: vec2f) {
    let block = transform / MATRIX_COLUMNS;
    let column = transform % MATRIX_COLUMNS;
    let at = i * MATRIX_COLUMNS + column;
    if LAST {
        store_block(block, at, conjugate(z));
    } else {
        let exponent = column * i;
        let power = product(powers[exponent % LOW], powers[LOW + exponent / LOW]);
        transformed[block * SIZE + at] = product(z, power);
    }
}
