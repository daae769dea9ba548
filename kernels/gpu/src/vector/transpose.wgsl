// Transposes of matrices of complex numbers, by tiles of 32 x 32 in shared memory.

// Numbers are copied as integers: no bit of them changes.
@group(0) @binding(0) var<storage, read> x: array<vec2u>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2u>;

override ROWS: u32 = 1u;
override COLUMNS: u32 = 1u;
override COUNT: u32 = 1u;

override TILES_X: u32 = (COLUMNS + 31u) / 32u;
override TILES_Y: u32 = (ROWS + 31u) / 32u;

var<workgroup> tile: array<array<vec2u, 33>, 32>;

@compute @workgroup_size(32, 8)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_id) thread: vec3u,
) {
    let number = group.x + group.y * groups.x;
    let row = number / TILES_X % TILES_Y * 32u;
    let column = number % TILES_X * 32u;
    let matrix = number / (TILES_X * TILES_Y);
    let first = matrix * (ROWS * COLUMNS);
    for (var i = thread.y; i < 32u; i += 8u) {
        if matrix < COUNT && row + i < ROWS && column + thread.x < COLUMNS {
            tile[i][thread.x] = x[first + (row + i) * COLUMNS + column + thread.x];
        }
    }
    workgroupBarrier();
    for (var i = thread.y; i < 32u; i += 8u) {
        if matrix < COUNT && column + i < COLUMNS && row + thread.x < ROWS {
            y[first + (column + i) * ROWS + row + thread.x] = tile[thread.x][i];
        }
    }
}
