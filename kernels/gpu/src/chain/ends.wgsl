// Windows before transforms, and decibels behind them: a thread for each number.

@group(0) @binding(0) var<storage, read> rows: array<vec2f>;
@group(0) @binding(1) var<storage, read> window: array<f32>;
@group(0) @binding(2) var<storage, read_write> windowed: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> levels: array<f32>;

override POINTS: u32 = 1u;
override COUNT: u32 = 1u;
// True behind the transforms.
override LAST: bool = false;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if at >= COUNT {
        return;
    }
    let z = rows[at];
    if LAST {
        levels[at] = decibels(z.x * z.x + z.y * z.y);
    } else {
        windowed[at] = window[at % POINTS] * z;
    }
}
