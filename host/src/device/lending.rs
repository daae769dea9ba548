//! Devices that share what engines have made of programs.

use super::Device;
use cp2_emu::TranslationPool;

impl Device {
    /// Calls `run` with this device, whose engine meanwhile uses translations of programs from `pool`, and adds
    /// to them. So devices with the same programs translate them once for each host thread. Results, times and
    /// reports do not change.
    ///
    /// Passes do not run on further threads meanwhile: the threads share out devices.
    pub fn lend_translations<R>(
        &mut self,
        pool: &TranslationPool,
        run: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let threads = std::mem::replace(&mut self.engine.options.threads, 1);
        let result = pool.lend(|translations| {
            self.engine.processor.swap_translations(translations);
            let result = run(self);
            self.engine.processor.swap_translations(translations);
            result
        });
        self.engine.options.threads = threads;
        result
    }
}
