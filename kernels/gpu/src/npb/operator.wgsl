// A base plus the 27-point operator of a periodic grid. Every thread marches along planes and keeps three
// sums of each plane: the point, its four neighbours beside it, and the four at the corners.

@group(0) @binding(0) var<storage, read> u: array<f32>;
@group(0) @binding(1) var<storage, read> base: array<f32>;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;

override PLANES: u32 = 2u;
override ROWS: u32 = 2u;
override COLUMNS: u32 = 2u;
override MARCH: u32 = 1u;
// What the operator is added to: 0 nothing, 1 the base, 2 the result's earlier values.
override BASE: u32 = 0u;
// Weights of the point, its faces, edges and corners.
override CENTRE: f32 = 1.0;
override FACES: f32 = 0.0;
override EDGES: f32 = 0.0;
override CORNERS: f32 = 0.0;

const WIDTH = 64u;
const HEIGHT = 4u;

override TILES_X: u32 = (COLUMNS + WIDTH - 1u) / WIDTH;
override TILES_Y: u32 = (ROWS + HEIGHT - 1u) / HEIGHT;

// Returns point, neighbours beside it and neighbours at the corners, in a plane that begins at `plane`.
fn sums(plane: u32, ys: vec3u, xs: vec3u) -> vec3f {
    let above = plane + ys.x * COLUMNS;
    let here = plane + ys.y * COLUMNS;
    let below = plane + ys.z * COLUMNS;
    let beside = (u[here + xs.x] + u[here + xs.z]) + (u[above + xs.y] + u[below + xs.y]);
    let corners = (u[above + xs.x] + u[above + xs.z]) + (u[below + xs.x] + u[below + xs.z]);
    return vec3f(u[here + xs.y], beside, corners);
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
    if x >= COLUMNS || y >= ROWS || first >= PLANES {
        return;
    }
    let xs = vec3u((x + COLUMNS - 1u) % COLUMNS, x, (x + 1u) % COLUMNS);
    let ys = vec3u((y + ROWS - 1u) % ROWS, y, (y + 1u) % ROWS);
    let apart = ROWS * COLUMNS;
    // The sums of a plane are called for in one place only: compilers keep them in registers then.
    var before = vec3f();
    var here = vec3f();
    let last = min(first + MARCH, PLANES) + 1u;
    for (var plane = first; plane <= last; plane++) {
        let next = sums((plane + PLANES - 1u) % PLANES * apart, ys, xs);
        if plane >= first + 2u {
            let both = before + next;
            let inner = CENTRE * here.x + FACES * (here.y + both.x);
            let outer = EDGES * (here.z + both.y) + CORNERS * both.z;
            let at = (plane - 2u) * apart + y * COLUMNS + x;
            let all = inner + outer;
            if BASE == 0u {
                result[at] = all;
            } else if BASE == 1u {
                result[at] = base[at] + all;
            } else {
                result[at] += all;
            }
        }
        before = here;
        here = next;
    }
}
