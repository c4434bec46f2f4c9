import ApproovTesting
import Foundation
import OAuth2
import OAuth2SecretService
import Testing

/// A bus, and GNOME Keyring on it with an unlocked default keyring; both end with this object.
final class TestKeyring: Sendable {
    static let whatIsMissing: Comment =
        """
        dbus-daemon, gnome-keyring-daemon or the Python library SecretStorage is not installed, so the Secret Service is not tried: run \
        Scripts/setup and pip install SecretStorage, or set APPROOV_PYTHON
        """
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    /// Whether the programs are installed.
    static func isPossible() async -> Bool {
        let test = "command -v dbus-daemon && command -v gnome-keyring-daemon && exec \"$0\" -c 'import secretstorage'"
        let run = try? await ChildProcess.run(URL(filePath: "/bin/sh"), ["-c", test, python])
        return run?.exitCode == 0
    }

    private let folder: TemporaryFolder
    let bus: TestBus
    private let service = Shared<ChildProcess?>(nil)

    init() async throws {
        folder = try TemporaryFolder()
        bus = try await TestBus()
        try folder.write("password", to: "password")
        try await start()
    }

    /// Starts the service, with the keyring of an earlier one.
    func start() async throws {
        for name in ["run", "data", "config"] where !FileManager.default.fileExists(atPath: folder.path(name)) {
            try FileManager.default.createDirectory(
                at: folder.file(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        let environment = [
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_RUNTIME_DIR": folder.path("run"), "XDG_DATA_HOME": folder.path("data"),
            "XDG_CONFIG_HOME": folder.path("config"),
        ]
        let command = "exec gnome-keyring-daemon --foreground --unlock --components=secrets < \"$0\""
        let process = try ChildProcess(URL(filePath: "/bin/sh"), ["-c", command, folder.path("password")], environment: environment)
        service.change { $0 = process }
        // It prints nothing when it is ready.
        let probe = store(name: "probe")
        while true {
            if (try? await probe.store(Samples.token(), for: Samples.key("probe"))) != nil { return }
            guard process.isRunning else { throw TestServerError("gnome-keyring-daemon ended: \(process.errors)") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Ends the service, and waits until it has ended.
    func stop(_ number: Int32 = SIGTERM) async {
        let process = service.change { process in
            defer { process = nil }
            return process
        }
        process?.signal(number)
        _ = await process?.wait()
    }

    /// Sends the service a signal that does not end it.
    func signal(_ number: Int32) { service.value?.signal(number) }

    var locks: URL { folder.file("locks") }

    /// A store with the test's bus.
    func store(name: String = "test", clock: ManualClock = ManualClock()) -> SecretServiceTokenStore {
        SecretServiceTokenStore(name: name, lockDirectory: locks, busAddress: bus.address, timeout: .seconds(60), clock: clock)
    }

    /// Runs Python with `secretstorage` and its `connection`, which are another program's access to the keyring.
    @discardableResult
    func python(_ program: String, _ arguments: String...) async throws -> String {
        let head = "import secretstorage, sys\nconnection = secretstorage.dbus_init()\n"
        let run = try await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [Self.python, "-c", head + program] + arguments,
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        guard run.exitCode == 0 else { throw TestServerError("Python: \(run.errors)") }
        return run.output
    }

    /// What a service does when it must no longer ask its user.
    enum Dismissal: String {
        case completes, isIgnored
    }

    /// Starts a Secret Service that has one locked item and whose user never answers.
    static func startAsking(on bus: TestBus, _ dismissal: Dismissal) async throws -> ChildProcess {
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"), [python, "-c", askingService, dismissal.rawValue],
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        _ = try await process.waitForOutput()
        return process
    }

    private static let askingService = #"""
        import sys
        from jeepney import DBusAddress, HeaderFields, MessageType, new_method_return, new_error, new_signal, message_bus
        from jeepney.io.blocking import open_dbus_connection
        connection = open_dbus_connection(bus="SESSION")
        connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets"))
        print("ready", flush=True)
        ITEM, PROMPT = "/org/freedesktop/secrets/collection/login/1", "/prompt/1"
        while True:
            message = connection.receive()
            if message.header.message_type != MessageType.method_call: continue
            name = message.header.fields[HeaderFields.member]
            if name == "OpenSession":
                if message.body[0] == "plain": answer = new_method_return(message, "vo", (("s", ""), "/session/1"))
                else: answer = new_error(message, "org.freedesktop.DBus.Error.NotSupported")
            elif name == "SearchItems": answer = new_method_return(message, "aoao", ([], [ITEM]))
            elif name == "Unlock": answer = new_method_return(message, "aoo", ([], PROMPT))
            elif name == "GetAll": answer = new_method_return(message, "a{sv}", ({"Locked": ("b", True), "Attributes": ("a{ss}", {}),
                "Label": ("s", ""), "Type": ("s", ""), "Created": ("t", 0), "Modified": ("t", 0)},))
            elif name in ("Prompt", "Dismiss"): answer = new_method_return(message)
            else: answer = new_error(message, "org.freedesktop.DBus.Error.UnknownMethod")
            print(name, flush=True)
            connection.send(answer)
            if name == "Dismiss" and sys.argv[1] == "completes":
                prompt = DBusAddress(PROMPT, interface="org.freedesktop.Secret.Prompt")
                connection.send(new_signal(prompt, "Completed", "bv", (True, ("ao", []))))
        """#
}

/// A bus without services that it could start by itself.
final class TestBus: Sendable {
    private let folder: TemporaryFolder
    private let process = Shared<ChildProcess?>(nil)
    let address: String

    init() async throws {
        folder = try TemporaryFolder()
        address = "unix:path=\(folder.path("bus"))"
        try await start()
    }

    /// Starts the bus, again after ``stop()``.
    func start() async throws {
        let configuration = """
            <busconfig><type>session</type><listen>\(address)</listen><policy context="default"><allow own="*"/>
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy></busconfig>
            """
        let file = try folder.write(configuration, to: "bus.conf")
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"), ["dbus-daemon", "--nofork", "--nopidfile", "--print-address", "--config-file=\(file)"])
        _ = try await process.waitForOutput()
        self.process.change { $0 = process }
    }

    /// Ends the bus, and waits until it has ended.
    func stop() async {
        let process = process.change { process in
            defer { process = nil }
            return process
        }
        process?.signal(SIGKILL)
        _ = await process?.wait()
        try? FileManager.default.removeItem(atPath: folder.path("bus"))
    }
}

/// Values that most tests need.
enum Samples {
    static func key(_ account: String = "alice") throws -> TokenKey {
        let url = try #require(URL(string: "https://login.test/token"))
        return TokenKey(
            client: try OAuth2Client(id: "app", server: OAuth2Server(tokenURL: url)), authorization: Authorization(level: .user),
            account: account)
    }

    /// A token whose dates are whole seconds, so that a record of it is equal to it.
    static func token(_ name: String = "a0", refresh: String? = "r0") throws -> BearerToken {
        try BearerToken(
            accessToken: name, refreshToken: refresh, issuedAt: Date(timeIntervalSince1970: 1_750_000_000),
            expiresAt: Date(timeIntervalSince1970: 4_000_000_000), scope: "read write")
    }
}
