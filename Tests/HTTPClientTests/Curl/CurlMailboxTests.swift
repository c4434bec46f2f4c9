import Foundation
import Testing

@testable import HTTPClient

@Suite struct CurlMailboxTests {
    private let mailbox: CurlMailbox

    init() throws { mailbox = try CurlMailbox() }

    /// Whether the transport's thread would wake.
    private var isWoken: Bool {
        var wake = pollfd(fd: mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wake, 1, 0) > 0
    }

    @Test("A message wakes the thread once while it sleeps, and not while it is awake")
    func wake() {
        mailbox.post(.stop)
        #expect(!isWoken && mailbox.hasMessages)
        var messages: [CurlMailbox.Message] = []
        mailbox.take(into: &messages)
        #expect(messages.count == 1 && !mailbox.hasMessages)
        // Nothing follows the message `stop`.
        #expect(!mailbox.post(.stop))
    }

    @Test("The thread does not fall asleep while a message waits")
    func awake() {
        #expect(mailbox.mayFallAsleep())
        let group = TransferGroup()
        mailbox.post(.cancelGroup(group))
        #expect(isWoken && !mailbox.mayFallAsleep())
        mailbox.acknowledgeWake()
        mailbox.post(.cancelGroup(group))
        #expect(!isWoken)
    }

    @Test("A caller's message does not wake the thread, and keeps it from falling asleep until a caller has taken it")
    func caller() {
        #expect(mailbox.mayFallAsleep())
        mailbox.post(.cancelGroup(TransferGroup()), wakesThread: false)
        #expect(!isWoken && !mailbox.mayFallAsleep())
        var messages: [CurlMailbox.Message] = []
        mailbox.takeForCaller(into: &messages)
        #expect(messages.count == 1 && mailbox.mayFallAsleep())
    }

    @Test("A caller that needs the thread wakes it, or keeps it from falling asleep, although a caller takes all messages")
    func needed() {
        #expect(mailbox.mayFallAsleep())
        mailbox.wakeThread()
        #expect(isWoken)
        mailbox.acknowledgeWake()
        var messages: [CurlMailbox.Message] = []
        mailbox.takeForCaller(into: &messages)
        #expect(!mailbox.mayFallAsleep())
        mailbox.take(into: &messages)
        #expect(mailbox.mayFallAsleep())
        mailbox.take(into: &messages)
        mailbox.wakeThread()
        #expect(!isWoken && !mailbox.mayFallAsleep())
    }
}
