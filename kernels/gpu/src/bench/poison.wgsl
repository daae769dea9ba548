// Overwrites an array with bits that are no number.

@group(0) @binding(0) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let i = (group.x + group.y * groups.x) * 256u + thread;
    if i < arrayLength(&words) {
        words[i] = 0xffffffffu;
    }
}
