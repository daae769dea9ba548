//! A cache of assembled programs.
//!
//! Planners assemble the same programs again and again: for every size, for a price, and for the run.

use cp2_asm::{Assembly, Diagnostics, Options, Source, Value};
use cp2_machine::Cp2;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Bytes of texts and programs that are kept, approximately.
const MOST: usize = 32 << 20;
/// Bytes of a program word with its place in the source, approximately.
const WORD: usize = 64;

/// A program, or the refusal of one, with everything that determines it.
#[derive(Debug)]
struct AssemblyKey {
    source: Source,
    made: String,
    defines: Vec<(String, Value)>,
    /// Its name stands in refusals.
    machine: String,
    cp2: Cp2,
    result: Result<Assembly, Diagnostics>,
}

/// The programs that are kept, by a hash of their texts, and their bytes.
#[derive(Debug, Default)]
struct CachedAssembly {
    all: HashMap<u64, Vec<Arc<AssemblyKey>>>,
    bytes: usize,
}

/// The cache of the process. It changes nothing but how long planning takes: assembling is a pure function.
static KEPT: LazyLock<Mutex<CachedAssembly>> = LazyLock::new(Mutex::default);

/// Returns the cached program of a source, or else assembles it and caches it.
///
/// The source may include files of this crate and the generated text `made`. What the assembler refuses is cached as
/// well: planners ask again for what did not fit.
pub(super) fn find_or_assemble(
    (source, made): (&Source, &str),
    options: &Options<'_>,
    assemble: impl FnOnce() -> Result<Assembly, Diagnostics>,
) -> Result<Assembly, Diagnostics> {
    let Some(machine) = options.machine else {
        return assemble();
    };
    let mut hasher = DefaultHasher::new();
    (&source.name, &source.text, made).hash(&mut hasher);
    let key = hasher.finish();
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&Arc<AssemblyKey>| {
        known.cp2 == machine.cp2
            && (known.result.is_ok() || known.machine == machine.name)
            && known.defines == options.defines
            && known.source == *source
            && known.made == made
    };
    let known = kept()
        .all
        .get(&key)
        .and_then(|all| all.iter().find(same).cloned());
    if let Some(known) = known {
        return known.result.clone();
    }
    let result = assemble();
    let mut kept = kept();
    let words = result.as_ref().map_or(0, |own| own.program.words.len());
    let bytes = source.text.len() + made.len() + WORD * words;
    if kept.bytes + bytes > MOST {
        *kept = CachedAssembly::default();
    }
    kept.bytes += bytes;
    kept.all.entry(key).or_default().push(Arc::new(AssemblyKey {
        source: source.clone(),
        made: made.to_owned(),
        defines: options.defines.clone(),
        machine: machine.name.clone(),
        cp2: machine.cp2.clone(),
        result: result.clone(),
    }));
    result
}
