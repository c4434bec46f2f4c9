import CLibCurl
import Foundation

/// The processors that this process may use.
enum ProcessorShare {
    /// The content of `cpu.max` when the first transport was made; nil outside of a cgroup.
    static let ownCgroupLimit = try? String(contentsOfFile: "/sys/fs/cgroup/cpu.max", encoding: .utf8)

    /// Whether two threads of this process can run at the same time for long: it may use two processors, and no container's limit is
    /// below two.
    static func allowsTwoThreads(
        processors: Int = Int(clibcurl_processors()), cgroupLimit: String? = ownCgroupLimit
    ) -> Bool {
        processors >= 2 && (cgroupLimit.flatMap(limit) ?? .infinity) >= 2
    }

    /// The processors that a cgroup may use; nil when there is no limit.
    ///
    /// - Parameter text: The content of `cpu.max`: microseconds of processor time (or "max"), and the period for which they are.
    /// - Returns: The number, which need not be whole; nil when there is no limit or the text cannot be read.
    private static func limit(_ text: String) -> Double? {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { Double($0) }
        guard numbers.count == 2, let time = numbers[0], let period = numbers[1], period > 0 else { return nil }
        return time / period
    }
}
