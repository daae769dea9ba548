// One step of a stencil: every thread marches along planes. The sum over the points is generated.

@group(0) @binding(0) var<storage, read> u: array<f32>;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
// Coefficients of every element: planes, rows, points, columns.
@group(0) @binding(2) var<storage, read> coefficients: array<f32>;

override PLANES: u32 = 1u;
override ROWS: u32 = 1u;
override COLUMNS: u32 = 1u;
// Points of the stencil.
override POINTS: u32 = 1u;
// Planes of a thread.
override MARCH: u32 = 1u;
// Elements beyond an edge: 0 zeros, 1 none as the outermost elements are kept, 2 mirrored, 3 periodic.
override EDGE: u32 = 0u;
// 1 for arrays of two axes.
override FLAT: u32 = 0u;

// Elements of a row and rows that a workgroup computes in each plane.
const WIDTH = 64u;
const HEIGHT = 4u;

override TILES_X: u32 = (COLUMNS + WIDTH - 1u) / WIDTH;
override TILES_Y: u32 = (ROWS + HEIGHT - 1u) / HEIGHT;

// The index of a neighbour along an axis; -1 for a zero.
fn near(at: u32, offset: i32, count: u32) -> i32 {
    let there = i32(at) + offset;
    if EDGE == 3u {
        return select(select(there, there - i32(count), there >= i32(count)), i32(count) - 1, there < 0);
    }
    if EDGE == 2u {
        return clamp(there, 0, i32(count) - 1);
    }
    return select(there, -1, there >= i32(count));
}

fn value(plane: i32, row: i32, column: i32) -> f32 {
    if EDGE == 0u && min(min(plane, row), column) < 0 {
        return 0.0;
    }
    return u[(u32(plane) * ROWS + u32(row)) * COLUMNS + u32(column)];
}

fn outermost(at: u32, count: u32) -> bool {
    return at == 0u || at + 1u == count;
}

@compute @workgroup_size(WIDTH, HEIGHT)
fn main(
    @builtin(local_invocation_id) thread: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let number = group.x + group.y * groups.x;
    let x = number % TILES_X * WIDTH + thread.x;
    let y = number / TILES_X % TILES_Y * HEIGHT + thread.y;
    let first = number / (TILES_X * TILES_Y) * MARCH;
    if x >= COLUMNS || y >= ROWS {
        return;
    }
    let xs = vec3i(near(x, -1, COLUMNS), i32(x), near(x, 1, COLUMNS));
    let ys = vec3i(near(y, -1, ROWS), i32(y), near(y, 1, ROWS));
    let at_edge = outermost(x, COLUMNS) || outermost(y, ROWS);
    for (var z = first; z < min(first + MARCH, PLANES); z++) {
        let at = (z * ROWS + y) * COLUMNS + x;
        if EDGE == 1u && (at_edge || (FLAT == 0u && outermost(z, PLANES))) {
            v[at] = u[at];
            continue;
        }
        let zs = vec3i(near(z, -1, PLANES), i32(z), near(z, 1, PLANES));
        v[at] = sum(zs, ys, xs, (z * ROWS + y) * POINTS * COLUMNS + x);
    }
}
