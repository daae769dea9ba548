// A copy, four numbers a thread.

@group(0) @binding(0) var<storage, read> from_array: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> to_array: array<vec4f>;

@compute @workgroup_size(256)
fn main(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let i = (group.x + group.y * groups.x) * 256u + thread;
    if i < arrayLength(&to_array) {
        to_array[i] = from_array[i];
    }
}
