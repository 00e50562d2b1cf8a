//! Hooks that a controller passes on to the controller that it is built on.

/// Writes hooks of [`Controller`](crate::Controller) that call the same hook of the field `$inner`.
macro_rules! delegate {
    ($inner:ident: $($hook:ident($($signal:ident: $type:ty)?)),* $(,)?) => {
        $(fn $hook(&mut self, $($signal: $type)?) {
            self.$inner.$hook($($signal)?);
        })*
    };
}
pub(crate) use delegate;
