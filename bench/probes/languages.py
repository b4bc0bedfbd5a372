"""The languages of the probes."""

from bench.probes.language import Language, Topic, words

ENGLISH = Language(
    "ERROR",
    (
        Topic(
            "explain_rejected_refund",
            "Payment gateway rejected the refund because certificate {} had expired",
            "Why are refunds being rejected at the gateway for our payments, was it some expiring certificate?",
            ("Payment gateway accepted the refund after one retry", "Certificate store refreshed, none expired today"),
            "Payment gateway rejected the refund because its amount was wrong",
        ),
        Topic(
            "compact_lisbon_ledger",
            "Replica in Lisbon fell behind the primary while compacting the ledger, marker {}",
            "How far does replication at Lisbon fall behind when ledgers are compacted?",
            ("Replica in Porto caught up with the primary", "Ledger compaction finished ahead of time"),
            "Replica in Lisbon fell behind the primary while copying the archive",
        ),
        Topic(
            "quarantine_scanned_archive",
            "Upload of invoice scans stopped: antivirus quarantined archive {}",
            "Which archives with scanned invoices did the antivirus put into quarantine when somebody was uploading?",
            ("Upload of invoice drafts finished", "Antivirus definitions are up to date for each archive"),
            "Upload of invoice scans stopped: antivirus was restarted",
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Thermostat in the greenhouse stopped reporting once firmware {} was flashed",
            "Since which firmware flashing do our greenhouses' thermostats no longer report anything?",
            ("Thermostat in the lobby reports normally", "Firmware of the greenhouse doors is current"),
            "Thermostat in the greenhouse stopped reporting once the fuse was changed",
        ),
        Topic(
            "release_nightly_lock",
            "Scheduler skipped the nightly reindex since lock {} was never released",
            "What lock, not having been released, made the scheduling skip reindexing at night?",
            ("Scheduler started the nightly backup", "Lock on the reindex table was released in time"),
            "Scheduler skipped the nightly reindex since nothing had changed",
        ),
    ),
    words(
        "request worker cache session page order customer index queue report update served waited moved "
        "checked stored opened closed loaded saved sent merged for with from under after before without "
        "near the a another every"
    ),
)

GERMAN = Language(
    "FEHLER",
    (
        Topic(
            "explain_rejected_refund",
            "Das Zahlungsgateway lehnte die Erstattung ab, weil das Zertifikat {} abgelaufen war",
            "Warum werden Erstattungen vom Gateway abgelehnt, etwa wegen eines abgelaufenen Zertifikats?",
            ("Das Zahlungsgateway nahm die Buchung an", "Der Speicher der Zertifikate wurde erneuert"),
        ),
        Topic(
            "compact_lisbon_ledger",
            "Die Replik in Lissabon blieb beim Verdichten des Hauptbuchs zurück, Marke {}",
            "Wie weit bleiben die Lissabonner Repliken zurück, wenn Hauptbücher verdichtet werden?",
            ("Die Replik in Porto holte auf", "Das Verdichten endete vor der Zeit"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Der Thermostat im Gewächshaus meldet nichts mehr, seit Firmware {} eingespielt wurde",
            "Seit welcher eingespielten Firmware melden die Thermostate in unseren Gewächshäusern nichts?",
            ("Der Thermostat im Flur meldet wie immer", "Die Firmware der Türen ist aktuell"),
        ),
    ),
    words(
        "Anfrage Arbeiter Speicher Sitzung Seite Bestellung Kunde Verzeichnis Bericht wartete geprüft "
        "geöffnet geschlossen geladen gesendet verschoben übernommen für mit aus unter nach vor ohne nahe "
        "die der ein jede"
    ),
)

CHINESE = Language(
    "错误",
    (
        Topic(
            "explain_rejected_refund",
            "支付网关拒绝了退款，因为证书{}已过期",
            "为什么退款会被网关拒绝？是不是证书过期了？",
            ("支付网关接受了付款", "证书库已刷新"),
        ),
        Topic(
            "compact_lisbon_ledger",
            "里斯本副本在压缩账本时落后，标记{}",
            "压缩账本的时候，里斯本的副本落后了多少？",
            ("波尔图副本已跟上", "账本压缩提前完成"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "温室的恒温器在刷入固件{}后停止上报",
            "刷了哪个固件以后温室恒温器就不上报了？",
            ("大厅的恒温器上报正常", "门禁固件已是最新"),
        ),
    ),
    words(
        "请求 工人 缓存 会话 页面 订单 客户 索引 队列 报告 更新 等待 移动 检查 存储 "
        "打开 关闭 加载 保存 发送 合并 之后 之前 没有 每个 另一个"
    ),
    "",
    "。",
)

RUSSIAN = Language(
    "ОШИБКА",
    (
        Topic(
            "explain_rejected_refund",
            "Платёжный шлюз отклонил возврат, потому что сертификат {} истёк",
            "Почему шлюзом отклоняются возвраты, из-за сертификата с истёкшим сроком?",
            ("Платёжный шлюз принял оплату", "Хранилище сертификатов обновлено"),
        ),
        Topic(
            "compact_lisbon_ledger",
            "Реплика в Лиссабоне отстала при сжатии журнала, метка {}",
            "Насколько отстаёт лиссабонская реплика во время сжатия журналов?",
            ("Реплика в Порту догнала основную", "Сжатие закончилось раньше срока"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Термостат в теплице перестал отвечать после прошивки {}",
            "После какой прошивки термостаты теплиц больше не отвечают?",
            ("Термостат в холле отвечает исправно", "Прошивка дверей свежая"),
        ),
    ),
    words(
        "запрос рабочий кэш сессия страница заказ клиент индекс очередь отчёт ждал проверен открыт закрыт "
        "загружен сохранён отправлен перемещён для с из под после перед без около каждый другой"
    ),
)
