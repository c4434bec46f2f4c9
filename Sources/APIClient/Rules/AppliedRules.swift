import Approov
import Foundation
import Synchronization

/// What rules set for the request that a task sends now.
///
/// Rules run for each attempt and each redirect. What they set for the last URL also judges the response, so they need not run again for
/// each validator, retry and status. After a redirect they do run again for the original URL, because its rules decide which statuses are
/// accepted.
final class AppliedRules: Sendable {
    /// A class, so that a look-up copies one reference under the lock.
    private final class Applied: Sendable {
        /// Tells lists of rules apart: a task may send requests under several.
        let rules: any AnyObject & Sendable
        let url: URL
        let configuration: ScopedConfiguration

        init(rules: any AnyObject & Sendable, url: URL, configuration: ScopedConfiguration) {
            (self.rules, self.url, self.configuration) = (rules, url, configuration)
        }
    }

    /// The object of the call that the current task makes; nil outside of a client's call, and in one that a cache may answer.
    @TaskLocal static var current: AppliedRules?

    /// Makes one object, or none, that of the current call.
    struct Scope: RequestScope {
        let call: AppliedRules?

        func run<Value>(_ work: () async throws -> Value) async throws -> Value {
            try await AppliedRules.$current.withValue(call) { try await work() }
        }
    }

    /// The media types that the call's deserializer reads, and the client's rules: they add them as Accept if none of them sets that.
    private let accept: (value: String, rules: any AnyObject & Sendable)?
    private let last = Mutex<Applied?>(nil)

    init(accept: (value: String, rules: any AnyObject & Sendable)? = nil) { self.accept = accept }

    /// The header Accept that these rules add; nil if others do, or the call has none.
    func accept(of rules: any AnyObject & Sendable) -> String? { accept.flatMap { $0.rules === rules ? $0.value : nil } }

    /// Notes what rules set for a URL.
    func note(_ configuration: ScopedConfiguration, of rules: any AnyObject & Sendable, for url: URL) {
        let applied = Applied(rules: rules, url: url, configuration: configuration)
        last.withLock { $0 = applied }
    }

    /// Returns a part of what these rules set for the last request; nil if that had another URL.
    func part<Part>(_ part: (ScopedConfiguration) -> Part, of rules: any AnyObject & Sendable, for url: URL) -> Part? {
        guard let applied = last.withLock({ $0 }), applied.rules === rules, applied.url == url else { return nil }
        return part(applied.configuration)
    }
}
