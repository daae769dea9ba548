// Half spectra of real numbers, from and to the transforms of half as many complex numbers: a thread for each
// number of the output.

@group(0) @binding(0) var<storage, read> source: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec2f>;
// Powers of the root of 1 of the whole length.
@group(0) @binding(2) var<storage, read> roots: array<vec2f>;

// Half the length, and the number of rows.
override HALF: u32 = 1u;
override ROWS: u32 = 1u;
// True from half spectra to what is transformed back.
override MERGE: bool = false;

fn product(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn conjugate(z: vec2f) -> vec2f {
    return vec2f(z.x, -z.y);
}

// Number k of a half spectrum. The first and the last one count as real.
fn of_spectrum(row: u32, k: u32) -> vec2f {
    let z = source[row * (HALF + 1u) + k];
    return vec2f(z.x, select(z.y, 0.0, k == 0u || k == HALF));
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if MERGE {
        if at >= ROWS * HALF {
            return;
        }
        let k = at % HALF;
        let a = of_spectrum(at / HALF, k);
        let b = conjugate(of_spectrum(at / HALF, HALF - k));
        let odd = product(a - b, conjugate(roots[k]));
        target_[at] = a + b + vec2f(-odd.y, odd.x);
    } else {
        if at >= ROWS * (HALF + 1u) {
            return;
        }
        let k = at % (HALF + 1u);
        let row = at / (HALF + 1u) * HALF;
        let a = source[row + k % HALF];
        let b = conjugate(source[row + (HALF - k) % HALF]);
        let odd = product(a - b, roots[k]);
        target_[at] = 0.5 * (a + b + vec2f(odd.y, -odd.x));
    }
}
