// The ends of Bluestein's algorithm for lines of N numbers: products with a chirp before and after a
// convolution of blocks.

@group(0) @binding(0) var<storage, read> source: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec2f>;
@group(0) @binding(2) var<storage, read> chirp: array<vec2f>;

override N: u32 = 1u;
override INNER: u32 = 1u;
// -1 conjugates what is loaded and stored: two conjugations make an inverse transform of a forward one.
override SIGN: f32 = 1.0;

fn place_in_line(line: u32, i: u32) -> u32 {
    return line / INNER * (N * INNER) + line % INNER + i * INNER;
}

fn load_block(block: u32, i: u32) -> vec2f {
    if i >= N {
        return vec2f();
    }
    let z = source[place_in_line(block, i)];
    return product(vec2f(z.x, SIGN * z.y), chirp[i]);
}

fn store_block(block: u32, i: u32, result: vec2f) {
    if i < N {
        let z = product(result, chirp[i]);
        target_[place_in_line(block, i)] = vec2f(z.x, SIGN * z.y);
    }
}
