//! Helpers of tests: a folder to run the command in, and the files it leaves.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Temporary folder in which the command runs.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

/// Exit code and output of a command.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Converts the output of a process; the code is -1 for a process that a signal ended.
    pub(crate) fn of(output: Output) -> Self {
        let Output {
            status,
            stdout,
            stderr,
        } = output;
        Self {
            code: status.code().unwrap_or(-1),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Parses the single JSON object that the command printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(
            self.out.lines().count(),
            1,
            "one object on one line: {}",
            self.out
        );
        serde_json::from_str(&self.out).unwrap()
    }

    /// Checks the exit code, and that standard error contains all of `words`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        for word in words {
            assert!(
                self.err.contains(word),
                "`{word}` is missing in: {}",
                self.err
            );
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// Checks that the exit code is 0.
    #[track_caller]
    pub(crate) fn works(&self) -> &Self {
        assert_eq!(self.code, 0, "{}\n{}", self.out, self.err);
        self
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cp2"));
        command
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Checks that command lines are refused as bad input, and that their messages contain the given words.
    pub(crate) fn refuses(&self, cases: &[(&str, &[&str])]) {
        for (line, words) in cases {
            self.cp2(line).fails(2, words);
        }
    }

    pub(crate) fn cp2(&self, line: &str) -> Ended {
        Ended::of(self.command(line).output().unwrap())
    }

    /// Makes a command behind a limit that the shell sets.
    #[cfg(target_os = "linux")]
    pub(crate) fn limited(&self, program: &Path, line: &str, limit: &str) -> Command {
        let mut shell = Command::new("bash");
        shell
            .args([
                "-c",
                &format!("{limit} && ulimit -c 0 && exec \"$0\" \"$@\""),
            ])
            .arg(program)
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        shell
    }

    /// Returns the names of the files in the folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Makes an `.npy` file of version 1.0.
pub(crate) fn npy(descr: &str, fortran: &str, shape: &str, payload: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.into_bytes());
    bytes.extend(payload);
    bytes
}

/// Reads the elements of an `.npy` file of 32-bit lanes.
pub(crate) fn lanes(file: &[u8]) -> Vec<f32> {
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[start..]
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// Converts numbers to little-endian bytes.
pub(crate) fn bytes(lanes: &[f32]) -> Vec<u8> {
    lanes.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Makes a WAV file of 16-bit mono samples.
pub(crate) fn wav(rate: u32, samples: &[i16]) -> Vec<u8> {
    let data = samples.len() as u32 * 2;
    let mut out = b"RIFF".to_vec();
    out.extend((36 + data).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    out.extend(rate.to_le_bytes());
    out.extend((2 * rate).to_le_bytes());
    out.extend(b"\x02\0\x10\0data");
    out.extend(data.to_le_bytes());
    out.extend(samples.iter().flat_map(|s| s.to_le_bytes()));
    out
}

/// Returns the value of a line of a process's status.
#[cfg(target_os = "linux")]
fn status_line(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let value = line.unwrap_or_default().trim_start_matches(':').trim();
    value.to_owned()
}

/// True if a set of signals of a process contains SIGINT.
#[cfg(target_os = "linux")]
fn has_interrupt(pid: u32, signals: &str) -> bool {
    let set = u64::from_str_radix(&status_line(pid, signals), 16);
    set.unwrap_or(0) & 2 != 0
}

/// Waits until a process fulfils a condition, or ends; without a time limit.
#[cfg(target_os = "linux")]
fn wait_for(pid: u32, condition: impl Fn(u32) -> bool) {
    while !status_line(pid, "State").starts_with('Z') && !condition(pid) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Sends SIGINT `times` times, each as soon as the command listens for it; returns how the command ended.
#[cfg(target_os = "linux")]
pub(crate) fn interrupted_often(command: Command, times: usize) -> Ended {
    interrupted_when(command, times, |pid| has_interrupt(pid, "SigCgt"))
}

/// Sends SIGINT `times` times, each as soon as the process of the command fulfils a condition; returns how the command
/// ended.
#[cfg(target_os = "linux")]
pub(crate) fn interrupted_when(
    mut command: Command,
    times: usize,
    condition: impl Fn(u32) -> bool,
) -> Ended {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..times {
        wait_for(child.id(), &condition);
        // The `kill` of the shell is used, since not every system has the program.
        let kill = Command::new("sh")
            .args(["-c", &format!("kill -INT {}", child.id())])
            .status()
            .unwrap();
        assert!(kill.success());
        // Two signals that are pending at the same time would count as one.
        wait_for(child.id(), |pid| !has_interrupt(pid, "ShdPnd"));
    }
    Ended::of(child.wait_with_output().unwrap())
}

/// Sends SIGINT as soon as a command listens for it; returns the exit code and the text of standard error.
#[cfg(target_os = "linux")]
pub(crate) fn interrupted(command: Command) -> (Option<i32>, String) {
    let ended = interrupted_often(command, 1);
    (Some(ended.code), ended.err)
}
