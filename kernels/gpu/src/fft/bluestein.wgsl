// Transforms of N numbers by Bluestein's algorithm, all in one workgroup: products with a chirp, a convolution
// by transforms, products with the chirp.

@group(0) @binding(0) var<storage, read> roots: array<vec2f>;
@group(0) @binding(1) var<storage, read> source: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> target_: array<vec2f>;
@group(0) @binding(3) var<storage, read> chirp: array<vec2f>;
@group(0) @binding(4) var<storage, read> spectrum: array<vec2f>;

override N: u32 = 1u;
override INNER: u32 = 1u;
override LOAD_SIGN: f32 = 1.0;
override STORE_SIGN: f32 = 1.0;

fn place(transform: u32, i: u32) -> u32 {
    return transform / INNER * (N * INNER) + transform % INNER + i * INNER;
}

fn load(transform: u32, i: u32) -> vec2f {
    if i >= N {
        return vec2f();
    }
    let z = source[place(transform, i)];
    return product(vec2f(z.x, LOAD_SIGN * z.y), chirp[i]);
}

fn filtered(i: u32, z: vec2f) -> vec2f {
    return product(z, spectrum[i]);
}

fn store(transform: u32, i: u32, result: vec2f) {
    if i < N {
        let z = product(result, chirp[i]);
        target_[place(transform, i)] = vec2f(z.x, STORE_SIGN * z.y);
    }
}
