import ApproovTesting
import Foundation
import OAuth2
import OAuth2SecretService
import TestTags
import Testing

@Suite(
    "A keyring that does not answer", .tags(.sockets, .processes), .enabled(TestKeyring.whatIsMissing, TestKeyring.isPossible))
struct SecretServiceCallsTests {
    /// Checks that all methods throw `storeFailed` with a message that contains a text.
    private func expectFailures(_ store: SecretServiceTokenStore, _ text: String, isUnanswered: Bool = false) async throws {
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await store.token(for: Samples.key()) },
            { try await store.store(Samples.token("s3cret"), for: Samples.key()) },
            { try await store.remove(for: Samples.key()) },
            { _ = try await store.replace(Samples.token("s3cret"), with: nil, for: Samples.key()) },
            { _ = try await store.storeIfAbsent(Samples.token("s3cret"), for: Samples.key()) },
        ]
        for call in calls {
            let error = await #expect(throws: OAuth2Error.self) { try await call() }
            #expect(error?.code == .storeFailed && error?.isUnanswered == isUnanswered)
            #expect(error?.message.contains(text) == true, "\(String(describing: error))")
            #expect(error?.description.contains("s3cret") == false)
        }
    }

    @Test("Without a bus, the error says how to get one", arguments: ["unix:path=/nowhere/bus", "unix:", "no address", ""])
    func noBus(address: String) async throws {
        let folder = try TemporaryFolder()
        try await expectFailures(
            SecretServiceTokenStore(lockDirectory: folder.file("locks"), busAddress: address), "there is no session bus")
    }

    @Test("Without a session, the error says what to use instead")
    func noSession() async throws {
        let folder = try TemporaryFolder()
        let run = try await ChildProcess.run(
            ChildProcess.beside("secret-service-worker"), ["", folder.path("locks"), "1"],
            environment: ["XDG_RUNTIME_DIR": folder.path("nothing")])
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("dbus-run-session, or use FileTokenStore"), "\(run.errors)")
    }

    @Test("Without a service on the bus, the error says what to install; the store works as soon as there is one")
    func noService() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        await keyring.stop()
        try await expectFailures(store, "install and start one")
        try await keyring.start()
        try await store.store(Samples.token(), for: Samples.key())
    }

    @Test("A store works on after the service was started again, and the tokens are still there")
    func restart() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        try await store.store(Samples.token(), for: Samples.key())
        for signal in [SIGTERM, SIGKILL] {
            await keyring.stop(signal)
            try await keyring.start()
            #expect(try await store.token(for: Samples.key()) != nil)
        }
    }

    @Test("The end of the bus does not end the program, and the store works on with the next bus")
    func busEnds() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        try await store.store(Samples.token(), for: Samples.key())
        await keyring.bus.stop()
        try await expectFailures(store, "there is no session bus")
        await keyring.stop()
        try await keyring.bus.start()
        try await keyring.start()
        #expect(try await store.token(for: Samples.key()) != nil)
    }

    @Test("A locked keyring gives an error and keeps its tokens, also from a log-out")
    func locked() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        let token = try Samples.token()
        try await store.store(token, for: Samples.key())
        try await keyring.python("secretstorage.get_default_collection(connection).lock()")
        let locked = { @Sendable in try await keyring.python("print(secretstorage.get_default_collection(connection).is_locked())") }
        #expect(try await locked() == "True\n")
        try await expectFailures(store, "keyring is locked", isUnanswered: true)
        await keyring.stop()
        try await keyring.start()
        #expect(try await store.token(for: Samples.key()) == token)
    }

    @Test("A service that stops in the middle of a call gives an error at the timeout, and works on when it continues")
    func hangs() async throws {
        let keyring = try await TestKeyring()
        let clock = ManualClock()
        let store = keyring.store(clock: clock)
        try await store.store(Samples.token(), for: Samples.key())
        keyring.signal(SIGSTOP)
        let call = Task { try await store.token(for: Samples.key()) }
        let waiting = Task { try await store.token(for: Samples.key()) }
        await clock.sleepers(atLeast: 2)
        clock.advance(by: .seconds(60))
        for task in [call, waiting] {
            let error = await #expect(throws: OAuth2Error.self) { try await task.value }
            #expect(error?.code == .storeFailed && error?.isUnanswered == true)
            #expect(error?.message.contains("did not answer within 60") == true)
        }
        keyring.signal(SIGCONT)
        #expect(try await store.token(for: Samples.key()) != nil)
    }

    @Test("A cancelled task does not wait for the service, and neither does one that is in line behind it")
    func cancelled() async throws {
        let keyring = try await TestKeyring()
        let clock = ManualClock()
        let store = keyring.store(clock: clock)
        try await store.store(Samples.token(), for: Samples.key())
        keyring.signal(SIGSTOP)
        let call = Task { try await store.token(for: Samples.key()) }
        let change = Task { try await store.store(Samples.token(), for: Samples.key()) }
        await clock.sleepers(atLeast: 2)
        call.cancel()
        change.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await #expect(throws: CancellationError.self) { try await change.value }
        keyring.signal(SIGCONT)
    }

    @Test("A service that ends in the middle of a call gives an error")
    func ends() async throws {
        let keyring = try await TestKeyring()
        let clock = ManualClock()
        let store = keyring.store(clock: clock)
        try await store.store(Samples.token(), for: Samples.key())
        keyring.signal(SIGSTOP)
        let call = Task { try await store.token(for: Samples.key()) }
        await clock.sleepers(atLeast: 1)
        await keyring.stop(SIGKILL)
        #expect(await codeThrown(as: OAuth2Error.self) { try await call.value } == .storeFailed)
    }

    @Test("A keyring whose user does not answer is asked until the timeout, or until the task is cancelled; the store works on")
    func asksUser() async throws {
        let bus = try await TestBus()
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let store = SecretServiceTokenStore(
            name: "test", lockDirectory: folder.file("locks"), busAddress: bus.address, timeout: .seconds(60), clock: clock)
        let service = try await TestKeyring.startAsking(on: bus, .completes)
        for number in 1...4 {
            try await expectNoAnswer(of: service, to: store, clock: clock, number: number)
        }
    }

    @Test("A service that never stops to ask its user holds no caller, and the store works on")
    func keepsAsking() async throws {
        let bus = try await TestBus()
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let store = SecretServiceTokenStore(
            name: "test", lockDirectory: folder.file("locks"), busAddress: bus.address, timeout: .seconds(60), clock: clock)
        var service = try await TestKeyring.startAsking(on: bus, .isIgnored)
        for number in 1...4 { try await expectNoAnswer(of: service, to: store, clock: clock, number: number) }
        service.signal(SIGKILL)
        _ = await service.wait()
        service = try await TestKeyring.startAsking(on: bus, .isIgnored)
        try await expectNoAnswer(of: service, to: store, clock: clock, number: 1)
    }

    /// Reads or removes a token, and checks that the call ends when the time is up, or with every second call when its task is cancelled.
    private func expectNoAnswer(
        of service: ChildProcess, to store: SecretServiceTokenStore, clock: ManualClock, number: Int
    ) async throws {
        let call = Task {
            if number > 2 { try await store.remove(for: Samples.key()) } else { _ = try await store.token(for: Samples.key()) }
        }
        _ = try await service.waitForOutput { $0.matches(of: /Prompt\n/).count >= number }
        await clock.sleepers(atLeast: 1)
        if number % 2 == 0 {
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        } else {
            clock.advance(by: .seconds(60))
            #expect(await codeThrown(as: OAuth2Error.self) { try await call.value } == .storeFailed)
        }
        // The user is no longer asked.
        _ = try await service.waitForOutput { $0.matches(of: /Dismiss\n/).count >= number }
    }
}
