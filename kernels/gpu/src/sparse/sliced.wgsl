// A real sparse matrix times a vector, by slices of 32 rows: entry k of all rows of a slice is contiguous.

@group(0) @binding(0) var<storage, read> slices: array<u32>;
@group(0) @binding(1) var<storage, read> lengths: array<u32>;
@group(0) @binding(2) var<storage, read> columns: array<u32>;
@group(0) @binding(3) var<storage, read> entries: array<f32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

override ROWS: u32 = 1u;
// True where every entry is 1.
override PATTERN: bool = false;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = (group.x + group.y * groups.x) * 128u + thread;
    if row >= ROWS {
        return;
    }
    let first = slices[row / 32u] + row % 32u;
    let end = first + 32u * lengths[row];
    var sum = 0.0;
    for (var at = first; at < end; at += 32u) {
        if PATTERN {
            sum += x[columns[at]];
        } else {
            sum += entries[at] * x[columns[at]];
        }
    }
    y[row] = sum;
}
