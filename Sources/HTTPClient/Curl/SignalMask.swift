import CLibCurl
import Foundation

/// The signals of a thread.
enum SignalMask {
    /// Runs work on a thread of the program without its signals, which come afterwards.
    ///
    /// A write to a closed socket then raises no SIGPIPE, which would end the program, and a thread that starts meanwhile gets no signals.
    static func withoutSignals<Value>(_ work: () -> Value) -> Value {
        var all = sigset_t()
        sigfillset(&all)
        var earlier = sigset_t()
        pthread_sigmask(SIG_BLOCK, &all, &earlier)
        defer {
            if sigismember(&earlier, SIGPIPE) == 0 { discardPipeSignal() }
            pthread_sigmask(SIG_SETMASK, &earlier, nil)
        }
        return work()
    }

    /// Takes the SIGPIPE that is pending for this thread, if there is one.
    private static func discardPipeSignal() {
        var pending = sigset_t()
        sigpending(&pending)
        guard sigismember(&pending, SIGPIPE) == 1 else { return }
        var pipe = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        var noTime = timespec()
        sigtimedwait(&pipe, nil, &noTime)
    }
}
