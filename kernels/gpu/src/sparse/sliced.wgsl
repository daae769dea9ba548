// A real sparse matrix times a vector, by slices of 32 rows: four entries of a row are contiguous, and so are those
// of all rows of a slice.

@group(0) @binding(0) var<storage, read> slices: array<u32>;
@group(0) @binding(1) var<storage, read> lengths: array<u32>;
@group(0) @binding(2) var<storage, read> columns: array<vec4u>;
@group(0) @binding(3) var<storage, read> entries: array<vec4f>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

const THREADS = 128u;
override ROWS: u32 = 1u;
// True where every entry is 1.
override PATTERN: bool = false;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = (group.x + group.y * groups.x) * THREADS + thread;
    if row >= ROWS {
        return;
    }
    let length = lengths[row];
    var at = slices[row / 32u] / 4u + row % 32u;
    var sum = 0.0;
    for (var k = 0u; k < length; k += 4u) {
        let column = columns[at];
        var entry = vec4f(1.0);
        if !PATTERN {
            entry = entries[at];
        }
        let factor = vec4f(x[column.x], x[column.y], x[column.z], x[column.w]);
        sum += entry.x * factor.x;
        if k + 1u < length {
            sum += entry.y * factor.y;
        }
        if k + 2u < length {
            sum += entry.z * factor.z;
        }
        if k + 3u < length {
            sum += entry.w * factor.w;
        }
        at += 32u;
    }
    y[row] = sum;
}
