// Bluestein's algorithm between transforms of M numbers in memory: one thread for each number of a line.

@group(0) @binding(0) var<storage, read> source: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec2f>;
@group(0) @binding(2) var<storage, read> factors: array<vec2f>;

// 0: products with the chirp, zeros behind them. 1: products with the spectrum of the chirp. 2: products of
// the convolution with the chirp.
override STAGE: u32 = 0u;
override N: u32 = 1u;
override M: u32 = 1u;
override INNER: u32 = 1u;
override LINES: u32 = 1u;
override SIGN: f32 = 1.0;

fn product(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 64u + thread;
    if at >= LINES * M {
        return;
    }
    let i = at % M;
    let line = at / M;
    let place = line / INNER * (N * INNER) + line % INNER + i * INNER;
    if STAGE == 0u {
        var z = vec2f();
        if i < N {
            let x = source[place];
            z = product(vec2f(x.x, SIGN * x.y), factors[i]);
        }
        target_[at] = z;
    } else if STAGE == 1u {
        target_[at] = product(source[at], factors[i]);
    } else if i < N {
        let z = product(source[at], factors[i]);
        target_[place] = vec2f(z.x, SIGN * z.y);
    }
}
