// One Jacobi iteration of the Himeno benchmark on some chunks of planes. Every thread marches along the planes of a
// chunk and keeps nine points of three planes each; a workgroup adds up the squares of its changes.

@group(0) @binding(0) var<storage, read> p: array<f32>;
@group(0) @binding(1) var<storage, read_write> next: array<f32>;
// The sum of a workgroup, by chunk and tile.
@group(0) @binding(2) var<storage, read_write> sums: array<f32>;
@group(0) @binding(3) var<storage, read> a0: array<f32>;
@group(0) @binding(4) var<storage, read> a1: array<f32>;
@group(0) @binding(5) var<storage, read> a2: array<f32>;
@group(0) @binding(6) var<storage, read> a3: array<f32>;
@group(0) @binding(7) var<storage, read> b0: array<f32>;
@group(0) @binding(8) var<storage, read> b1: array<f32>;
@group(0) @binding(9) var<storage, read> b2: array<f32>;
@group(0) @binding(10) var<storage, read> c0: array<f32>;
@group(0) @binding(11) var<storage, read> c1: array<f32>;
@group(0) @binding(12) var<storage, read> c2: array<f32>;
@group(0) @binding(13) var<storage, read> wrk1: array<f32>;
@group(0) @binding(14) var<storage, read> bnd: array<f32>;

// The box of the arrays.
override PLANES: u32 = 3u;
override ROWS: u32 = 3u;
override COLUMNS: u32 = 3u;
// Planes of a chunk.
override MARCH: u32 = 1u;
// Chunks to compute: the first one, and the one behind the last.
override FIRST: u32 = 0u;
override END: u32 = 1u;
// Plane of the arrays at which chunk 0 begins; negative where it is on another device.
override ORIGIN: i32 = 0;
override OMEGA: f32 = 0.8;

// Points of a row and rows that a workgroup computes in each plane.
const WIDTH = 64u;
const HEIGHT = 4u;

override TILES_X: u32 = (COLUMNS + WIDTH - 1u) / WIDTH;
override TILES: u32 = TILES_X * ((ROWS + HEIGHT - 1u) / HEIGHT);

var<workgroup> squares: array<f32, 256>;

// Nine points of a plane: rows before, of, and behind the point, each with the columns before, of, and behind it.
struct Points {
    before: vec3f,
    here: vec3f,
    behind: vec3f,
}

fn row_points(row: u32, xs: vec3u) -> vec3f {
    return vec3f(p[row + xs.x], p[row + xs.y], p[row + xs.z]);
}

fn points(plane: u32, ys: vec3u, xs: vec3u) -> Points {
    let rows = (vec3u(plane * ROWS) + ys) * COLUMNS;
    return Points(row_points(rows.x, xs), row_points(rows.y, xs), row_points(rows.z, xs));
}

fn change(at: u32, below: Points, own: Points, above: Points) -> f32 {
    let s0 = a0[at] * above.here.y + a1[at] * own.behind.y + a2[at] * own.here.z
        + b0[at] * (above.behind.y - above.before.y - below.behind.y + below.before.y)
        + b1[at] * (own.behind.z - own.before.z - own.behind.x + own.before.x)
        + b2[at] * (above.here.z - below.here.z - above.here.x + below.here.x)
        + c0[at] * below.here.y + c1[at] * own.before.y + c2[at] * own.here.x
        + wrk1[at];
    return (s0 * a3[at] - own.here.y) * bnd[at];
}

fn is_inner(at: u32, count: u32) -> bool {
    return at > 0u && at + 1u < count;
}

@compute @workgroup_size(WIDTH, HEIGHT)
fn main(
    @builtin(local_invocation_id) thread: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let number = group.x + group.y * groups.x;
    let tile = number % TILES;
    let chunk = FIRST + number / TILES;
    let x = tile % TILES_X * WIDTH + thread.x;
    let y = tile / TILES_X * HEIGHT + thread.y;
    let is_point = x < COLUMNS && y < ROWS && chunk < END;
    let is_inside = is_inner(x, COLUMNS) && is_inner(y, ROWS);
    var total = 0.0;
    if is_point {
        let xs = vec3u(max(x, 1u) - 1u, x, min(x + 1u, COLUMNS - 1u));
        let ys = vec3u(max(y, 1u) - 1u, y, min(y + 1u, ROWS - 1u));
        let first = u32(i32(chunk * MARCH) + ORIGIN);
        let end = min(first + MARCH, PLANES);
        var below = points(max(first, 1u) - 1u, ys, xs);
        var own = points(first, ys, xs);
        for (var z = first; z < end; z++) {
            let above = points(min(z + 1u, PLANES - 1u), ys, xs);
            let at = (z * ROWS + y) * COLUMNS + x;
            var result = own.here.y;
            if is_inside && is_inner(z, PLANES) {
                let ss = change(at, below, own, above);
                total += ss * ss;
                result += OMEGA * ss;
            }
            next[at] = result;
            below = own;
            own = above;
        }
    }
    squares[index] = total;
    for (var half = WIDTH * HEIGHT / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if index < half {
            squares[index] += squares[index + half];
        }
    }
    if index == 0u && chunk < END {
        sums[chunk * TILES + tile] = squares[0];
    }
}
