//! Runs tasks on the loop's own thread, and signals them to stop.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures_executor::{LocalPool, LocalSpawner};
use futures_util::FutureExt;
use futures_util::task::LocalSpawnExt;

/// A single-threaded executor that runs only when called.
#[derive(Debug, Default)]
pub struct Pool(LocalPool);

impl Pool {
    /// Polls tasks until all of them wait.
    pub fn run(&mut self) {
        self.0.run_until_stalled();
    }

    /// Returns a handle that spawns tasks.
    pub fn spawner(&self) -> Spawner {
        Spawner(self.0.spawner())
    }
}

/// Handle that spawns tasks in a [`Pool`].
#[derive(Clone, Debug)]
pub struct Spawner(LocalSpawner);

impl Spawner {
    /// Spawns a task. If it panics, only this task ends, and `on_panic` is called. A library's
    /// panic on untrusted bytes must not end the server.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static, on_panic: impl FnOnce() + 'static) {
        let guarded = AssertUnwindSafe(task).catch_unwind();
        let task = async move {
            if guarded.await.is_err() {
                on_panic();
            }
        };
        // Fails only if the pool is gone.
        let _ = self.0.spawn_local(task);
    }
}

/// A signal that is sent once, to any number of tasks.
#[derive(Clone, Default)]
pub struct Signal(Rc<RefCell<(bool, Vec<Waker>)>>);

impl Signal {
    /// Sends the signal.
    pub fn send(&self) {
        let wakers = {
            let mut state = self.0.borrow_mut();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Reports whether the signal was sent.
    pub fn is_sent(&self) -> bool {
        self.0.borrow().0
    }

    /// Waits for the signal.
    pub async fn wait(&self) {
        poll_fn(|cx| {
            let mut state = self.0.borrow_mut();
            if state.0 {
                return Poll::Ready(());
            }
            if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.1.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({})", self.is_sent())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A panic is reported, and the other tasks go on.
    #[test]
    fn a_panic_ends_one_task() {
        let mut pool = Pool::default();
        let (said, came, signal) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)), Signal::default());
        for n in 0..3 {
            let (said, came, signal) = (Rc::clone(&said), Rc::clone(&came), signal.clone());
            let task = async move {
                assert!(n != 1, "as tested");
                signal.wait().await;
                came.set(came.get() + 1);
            };
            pool.spawner().spawn(task, move || said.set(said.get() + 1));
        }
        pool.run();
        assert_eq!((said.get(), came.get()), (1, 0));
        signal.send();
        pool.run();
        assert_eq!((said.get(), came.get()), (1, 2));
    }
}
