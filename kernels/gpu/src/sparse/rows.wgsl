// A sparse matrix times vectors, by compressed rows: LANES threads for each number of the product.

@group(0) @binding(0) var<storage, read> starts: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> real_entries: array<f32>;
// The same arrays, as complex numbers.
@group(0) @binding(3) var<storage, read> complex_entries: array<vec2f>;
@group(0) @binding(4) var<storage, read> real_x: array<f32>;
@group(0) @binding(5) var<storage, read> complex_x: array<vec2f>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

override ROWS: u32 = 1u;
override VECTORS: u32 = 1u;
// A power of two, at most the threads of a workgroup.
override LANES: u32 = 1u;
override COMPLEX: bool = false;
// True where every entry is 1.
override PATTERN: bool = false;

const THREADS = 128u;

var<workgroup> sums: array<vec2f, THREADS>;

fn term(entry: u32, vector: u32) -> vec2f {
    let at = columns[entry] * VECTORS + vector;
    if COMPLEX {
        let a = complex_entries[entry];
        let x = complex_x[at];
        return vec2f(a.x * x.x - a.y * x.y, a.x * x.y + a.y * x.x);
    }
    if PATTERN {
        return vec2f(real_x[at], 0.0);
    }
    return vec2f(real_entries[entry] * real_x[at], 0.0);
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = (group.x + group.y * groups.x) * (THREADS / LANES) + thread / LANES;
    let lane = thread % LANES;
    var sum = vec2f();
    if number < ROWS * VECTORS {
        let row = number / VECTORS;
        let end = starts[row + 1u];
        for (var entry = starts[row] + lane; entry < end; entry += LANES) {
            sum += term(entry, number % VECTORS);
        }
    }
    if LANES > 1u {
        sums[thread] = sum;
        for (var apart = LANES / 2u; apart > 0u; apart /= 2u) {
            workgroupBarrier();
            if lane < apart {
                sums[thread] += sums[thread + apart];
            }
        }
        sum = sums[thread];
    }
    if lane == 0u && number < ROWS * VECTORS {
        if COMPLEX {
            y[2u * number] = sum.x;
            y[2u * number + 1u] = sum.y;
        } else {
            y[number] = sum.x;
        }
    }
}
