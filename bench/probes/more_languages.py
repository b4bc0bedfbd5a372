"""Languages and facts that were not used to write the strategies."""

from bench.probes.language import Language, Topic, words
from bench.probes.languages import ENGLISH

OFFICE = Language(
    "ERROR",
    (
        Topic(
            "rotate_vault_key",
            "Vault refused to rotate key {} because the quorum was missing",
            "Why couldn't keys be rotated by the vault, were there quorums missing?",
            ("Vault rotated the key of the archive", "Quorum of the cluster is complete"),
        ),
        Topic(
            "drop_jammed_parcel",
            "Conveyor dropped parcel {} when the barcode reader jammed",
            "Which parcels have conveyors been dropping while readers of barcodes were jamming?",
            ("Conveyor moved a parcel to another bay", "Barcode reader was cleaned"),
        ),
        Topic(
            "import_glossary_chapter",
            "Translation of chapter {} timed out as the glossary was being imported",
            "What chapters couldn't be translated in time during glossary imports?",
            ("Translation of the preface was stored", "Glossary import finished early"),
        ),
    ),
    ENGLISH.words,
)

FRENCH = Language(
    "ERREUR",
    (
        Topic(
            "explain_rejected_refund",
            "La passerelle de paiement a rejeté le remboursement car le certificat {} avait expiré",
            "Pourquoi les remboursements sont-ils rejetés par les passerelles, à cause de certificats expirés ?",
            ("La passerelle de paiement a accepté la commande", "Le magasin des certificats est à jour"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Le thermostat de la serre ne répond plus depuis l'installation du micrologiciel {}",
            "Depuis quel micrologiciel installé les thermostats des serres ne répondent-ils plus ?",
            ("Le thermostat du couloir répond bien", "Le micrologiciel des portes est récent"),
        ),
    ),
    words(
        "requête client page commande séance mémoire rapport fichier ouvert fermé chargé envoyé vérifié déplacé "
        "pour avec sans sous après avant près chaque autre une le la"
    ),
)

SPANISH = Language(
    "FALLO",
    (
        Topic(
            "explain_rejected_refund",
            "La pasarela de pagos rechazó el reembolso porque el certificado {} había caducado",
            "¿Por qué las pasarelas rechazan reembolsos, acaso por certificados caducados?",
            ("La pasarela de pagos aceptó el pedido", "El almacén de certificados está al día"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "El termostato del invernadero dejó de responder tras instalar el firmware {}",
            "¿Desde qué instalación de firmware no responden los termostatos de los invernaderos?",
            ("El termostato del pasillo responde bien", "El firmware de las puertas es reciente"),
        ),
    ),
    words(
        "petición cliente página pedido sesión memoria informe fichero abierto cerrado cargado enviado revisado "
        "para con sin bajo después antes cerca cada otro una el la"
    ),
)

JAPANESE = Language(
    "エラー",
    (
        Topic(
            "explain_rejected_refund",
            "決済ゲートウェイが返金を拒否しました。証明書{}の有効期限切れのため",
            "返金がゲートウェイで拒否されたのは、期限切れの証明書が原因ですか？",
            ("決済ゲートウェイが注文を受け付けました", "証明書の保管庫を更新しました"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "温室のサーモスタットはファームウェア{}の書き込み後に応答しなくなりました",
            "どのファームウェアを書き込んでから温室サーモスタットの応答がなくなった？",
            ("廊下のサーモスタットは正常です", "ドアのファームウェアは最新です"),
        ),
    ),
    words(
        "要求 作業 記憶 会議 画面 注文 顧客 索引 待機 報告 更新 移動 確認 保存 開く 閉じる 読込 送信 統合 前 後 各 別"
    ),
    "",
    "。",
)

KOREAN = Language(
    "오류",
    (
        Topic(
            "explain_rejected_refund",
            "결제 게이트웨이가 환불을 거부했습니다. 인증서 {}이(가) 만료되었기 때문입니다",
            "게이트웨이에서 환불이 거부되는 이유는 만료된 인증서 때문인가요?",
            ("결제 게이트웨이가 주문을 받았습니다", "인증서 저장소를 갱신했습니다"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "온실의 온도조절기가 펌웨어 {} 설치 후 응답하지 않습니다",
            "어떤 펌웨어를 설치한 뒤로 온실 온도조절기의 응답이 없나요?",
            ("복도의 온도조절기는 정상입니다", "문의 펌웨어는 최신입니다"),
        ),
    ),
    words(
        "요청 작업 기억 회의 화면 주문 고객 색인 대기 보고 갱신 이동 확인 저장 열기 닫기 읽기 전송 병합 전 후 각 다른"
    ),
)
