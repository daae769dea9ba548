//! Programs that have been assembled: planners make the same ones again for every size, for a price, and for the run.

use cp2_asm::{Assembly, Diagnostics, Options, Source, Value};
use cp2_machine::Cp2;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Bytes of texts and programs that are kept, about.
const MOST: usize = 32 << 20;
/// Bytes of a word with what is known of its place in the source, about.
const WORD: usize = 64;

/// A program with all that decides it.
#[derive(Debug)]
struct AssemblyKey {
    source: Source,
    made: String,
    defines: Vec<(String, Value)>,
    cp2: Cp2,
    assembly: Assembly,
}

#[derive(Debug, Default)]
struct CachedAssembly {
    all: HashMap<u64, Vec<Arc<AssemblyKey>>>,
    bytes: usize,
}

/// Programs change nothing but how long planning takes: a pure function remembered.
static KEPT: LazyLock<Mutex<CachedAssembly>> = LazyLock::new(Mutex::default);

/// The program of a source that includes files of this crate and what is `made`, if it is known, or else what `assemble`
/// gives. What is refused is not kept.
pub(super) fn or_assembled(
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
            && known.defines == options.defines
            && known.source == *source
            && known.made == made
    };
    let known = kept()
        .all
        .get(&key)
        .and_then(|all| all.iter().find(same).cloned());
    if let Some(known) = known {
        return Ok(known.assembly.clone());
    }
    let assembly = assemble()?;
    let mut kept = kept();
    let bytes = source.text.len() + made.len() + WORD * assembly.program.words.len();
    if kept.bytes + bytes > MOST {
        *kept = CachedAssembly::default();
    }
    kept.bytes += bytes;
    kept.all.entry(key).or_default().push(Arc::new(AssemblyKey {
        source: source.clone(),
        made: made.to_owned(),
        defines: options.defines.clone(),
        cp2: machine.cp2.clone(),
        assembly: assembly.clone(),
    }));
    Ok(assembly)
}
