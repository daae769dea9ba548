// Transforms of lines of an array. The array is divided into OUTER blocks, of MIDDLE lines, of INNER lines
// each; number i of a line is at a multiple of a step behind the line's first number.

@group(0) @binding(0) var<storage, read> roots: array<vec2f>;
@group(0) @binding(1) var<storage, read> source: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> target_: array<vec2f>;
// The powers of a root by their exponent: first of its low part, then of its high part.
@group(0) @binding(3) var<storage, read> powers: array<vec2f>;

override MIDDLE: u32 = 1u;
override INNER: u32 = 1u;
override LOAD_OUTER: u32 = 1u;
override LOAD_MIDDLE: u32 = 1u;
override LOAD_STEP: u32 = 1u;
override STORE_OUTER: u32 = 1u;
override STORE_MIDDLE: u32 = 1u;
override STORE_STEP: u32 = 1u;
// -1 conjugates what is loaded or stored: two conjugations make an inverse transform of a forward one.
override LOAD_SIGN: f32 = 1.0;
override STORE_SIGN: f32 = 1.0;
// True where results are multiplied by powers of a root.
override TWIDDLE: bool = false;
// Low parts of their exponents, a power of two.
override LOW: u32 = 1u;

fn first(transform: u32, outer: u32, middle: u32) -> u32 {
    let block = transform / (MIDDLE * INNER);
    return block * outer + transform / INNER % MIDDLE * middle + transform % INNER;
}

fn load(transform: u32, i: u32) -> vec2f {
    let z = source[first(transform, LOAD_OUTER, LOAD_MIDDLE) + i * LOAD_STEP];
    return vec2f(z.x, LOAD_SIGN * z.y);
}

fn store(transform: u32, i: u32, result: vec2f) {
    var z = result;
    if TWIDDLE {
        let exponent = transform / INNER % MIDDLE * i;
        let power = product(powers[exponent % LOW], powers[LOW + exponent / LOW]);
        z = product(z, power);
    }
    let at = first(transform, STORE_OUTER, STORE_MIDDLE) + i * STORE_STEP;
    target_[at] = vec2f(z.x, STORE_SIGN * z.y);
}
