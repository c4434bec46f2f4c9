import Approov
import Logging

func watchConfiguration(of service: ApproovService, logger: Logger) async {
    for await event in service.configurationEvents() {
        switch event {
        case .accepted(let version):
            logger.info("configuration \(version) is in force")
        case .expired(let version):
            logger.warning("configuration \(version) has expired; its pins stay in force")
        case .refused(let error), .notStored(let error), .setAside(let error), .exposed(let error):
            logger.error("\(error)")
        default:
            logger.notice("\(event)")
        }
    }
}
