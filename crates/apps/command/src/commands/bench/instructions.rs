//! Counts the instructions of this process, if the kernel can: on Linux with `perf_event_paranoid`
//! at 2 or less, on a processor or in a virtual machine that has the counter.

#[cfg(target_os = "linux")]
pub(super) struct Counter(perf_event::Counter);

#[cfg(not(target_os = "linux"))]
pub(super) struct Counter(());

#[cfg(target_os = "linux")]
impl Counter {
    /// Starts counting; `None` if the kernel refuses.
    pub(super) fn begin() -> Option<Self> {
        use perf_event::Builder;
        use perf_event::events::Hardware;
        let mut builder = Builder::new().kind(Hardware::INSTRUCTIONS);
        builder.inherit(true);
        let mut counter = builder.build().ok()?;
        counter.enable().ok()?;
        Some(Self(counter))
    }

    /// Returns the number of instructions since the start.
    pub(super) fn end(mut self) -> Option<u64> {
        self.0.disable().ok()?;
        self.0.read().ok().filter(|count| *count > 0)
    }
}

#[cfg(not(target_os = "linux"))]
impl Counter {
    pub(super) fn begin() -> Option<Self> {
        None
    }

    pub(super) fn end(self) -> Option<u64> {
        None
    }
}
