"""Sentences of many languages: the first articles of the Universal Declaration of Human Rights, and plain ones."""

SENTENCES: dict[str, tuple[str, ...]] = {
    "English": (
        "The harbour was quiet when the last of the fishing boats came in, and nobody remembered a colder morning.",
        "She had been told that a machine would do this work better, but the machine had been broken since autumn.",
        "All human beings are born free and equal in dignity and rights.",
        "The server closed the connection because the request was longer than the limit in its settings.",
        "Check the network and try again; the log has the details of the last three failures.",
    ),
    "Polish": (
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
        "Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
        "Połączenie z bazą danych zostało zamknięte, sprawdź ustawienia sieci i spróbuj ponownie.",
        "Przeciągające się posiedzenie zarządu spółdzielni mieszkaniowej zakończyło się dopiero późnym wieczorem.",
        "Żółta łódź podwodna płynęła wzdłuż brzegu, a dzieci machały do niej z pomostu chusteczkami.",
    ),
    "Czech": (
        "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.",
        "Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
        "Připojení k databázi bylo ukončeno, zkontrolujte nastavení sítě a zkuste to znovu.",
        "Příliš žluťoučký kůň úpěl ďábelské ódy a nikdo z přítomných mu nerozuměl ani slovo.",
    ),
    "Hungarian": (
        "Minden emberi lény szabadon születik és egyenlő méltósága és joga van.",
        "Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.",
        "Az adatbázis-kapcsolat megszakadt, ellenőrizze a hálózati beállításokat, és próbálja meg újra.",
        "A szövetkezet közgyűlése késő estig elhúzódott, mert a jegyzőkönyvet többször is ki kellett javítani.",
    ),
    "Finnish": (
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.",
        "Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
        "Tietokantayhteys katkaistiin, tarkista verkkoasetukset ja yritä uudelleen hetken kuluttua.",
        "Kokouksen pöytäkirjaa jouduttiin korjaamaan useaan otteeseen, ennen kuin se voitiin hyväksyä.",
    ),
    "Turkish": (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.",
        "Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
        "Veritabanı bağlantısı kapatıldı, ağ ayarlarınızı kontrol edip yeniden deneyiniz.",
        "Toplantı gece geç saatlere kadar sürdüğünden tutanakların düzeltilmesi ertesi güne bırakıldı.",
    ),
    "Vietnamese": (
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
        "Mọi con người đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình anh em.",
        "Kết nối với cơ sở dữ liệu đã bị đóng, hãy kiểm tra cài đặt mạng rồi thử lại.",
    ),
    "German": (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
        "Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
        "Die Datenbankverbindung wurde geschlossen, bitte überprüfen Sie die Netzwerkeinstellungen.",
        "Die Genossenschaftsversammlung dauerte bis spät in die Nacht, weil das Protokoll berichtigt werden musste.",
    ),
    "French": (
        "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
        "Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de "
        "fraternité.",
        "La connexion à la base de données a été fermée, vérifiez les paramètres du réseau puis réessayez.",
    ),
    "Icelandic": (
        "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum.",
        "Menn eru gæddir vitsmunum og samvizku, og ber þeim að breyta bróðurlega hverjum við annan.",
    ),
    "Swahili": (
        "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa.",
        "Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane kindugu.",
        "Muunganisho wa hifadhidata umefungwa, tafadhali kagua mipangilio ya mtandao kisha ujaribu tena.",
    ),
    "Indonesian": (
        "Semua orang dilahirkan merdeka dan mempunyai martabat dan hak-hak yang sama.",
        "Mereka dikaruniai akal dan hati nurani dan hendaknya bergaul satu sama lain dalam semangat persaudaraan.",
        "Sambungan basis data telah ditutup, periksa pengaturan jaringan lalu coba sekali lagi.",
    ),
    "Tagalog": (
        "Ang lahat ng tao'y isinilang na malaya at pantay-pantay sa karangalan at mga karapatan.",
        "Sila'y pinagkalooban ng katwiran at budhi at dapat magpalagayan ang isa't isa sa diwa ng pagkakapatiran.",
    ),
    "Zulu": (
        "Bonke abantu bazalwa bekhululekile belingana ngesithunzi nangamalungelo.",
        "Bahlanganiswe wumcabango nangunembeza futhi kufanele baphathane ngomoya wobunye.",
    ),
    "Yoruba": (
        "Gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba.",
        "Wọ́n ní ẹ̀bùn ti làákàyè àti ti ẹ̀rí-ọkàn, ó sì yẹ kí wọn ó máa hùwà sí ara wọn gẹ́gẹ́ bí ọmọ ìyá.",
    ),
    "Russian": (
        "Все люди рождаются свободными и равными в своём достоинстве и правах.",
        "Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
        "Соединение с базой данных закрыто, проверьте настройки сети и повторите попытку позже.",
        "Затянувшееся заседание правления жилищного кооператива закончилось лишь поздним вечером.",
    ),
    "Ukrainian": (
        "Всі люди народжуються вільними і рівними у своїй гідності та правах.",
        "Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
        "З'єднання з базою даних закрито, перевірте налаштування мережі та спробуйте ще раз.",
    ),
    "Kazakh": (
        "Барлық адамдар тумысынан азат және қадір-қасиеті мен құқықтары тең болып дүниеге келеді.",
        "Адамдарға ақыл-парасат, ар-ождан берілген, сондықтан олар бір-бірімен туыстық, бауырмалдық "
        "қарым-қатынас жасаулары тиіс.",
    ),
    "Mongolian": (
        "Хүн бүр төрж мэндлэхэд эрх чөлөөтэй, адилхан нэр төртэй, ижил эрхтэй байдаг.",
        "Оюун ухаан, нандин чанар заяасан хүн гэгч өөр хоорондоо ахан дүүгийн үзэл санаагаар харьцах учиртай.",
    ),
    "Greek": (
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
        "Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα "
        "αδελφοσύνης.",
        "Η σύνδεση με τη βάση δεδομένων έκλεισε, ελέγξτε τις ρυθμίσεις του δικτύου και δοκιμάστε ξανά.",
    ),
    "Hebrew": (
        "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
        "כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
        "החיבור למסד הנתונים נסגר, בדקו את הגדרות הרשת ונסו שוב.",
    ),
    "Arabic": (
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.",
        "وقد وهبوا عقلًا وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.",
        "تم إغلاق الاتصال بقاعدة البيانات، يرجى التحقق من إعدادات الشبكة والمحاولة مرة أخرى.",
    ),
    "Persian": (
        "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند.",
        "همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
    ),
    "Hindi": (
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
        "उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
        "डेटाबेस का संपर्क बंद हो गया है, कृपया नेटवर्क की सेटिंग जाँचें और फिर से प्रयास करें।",
    ),
    "Bengali": (
        "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।",
        "তাঁদের বিবেক এবং বুদ্ধি আছে; সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিত।",
    ),
    "Tamil": (
        "மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள்.",
        "அவர்கள் நியாயத்தையும் மனச்சாட்சியையும் இயற்பண்பாகப் பெற்றவர்கள்.",
    ),
    "Thai": (
        "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
        "ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
        "การเชื่อมต่อกับฐานข้อมูลถูกปิด โปรดตรวจสอบการตั้งค่าเครือข่ายแล้วลองใหม่อีกครั้ง",
    ),
    "Burmese": ("လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း၊ တူညီလွတ်လပ်သော အခွင့်အရေးများဖြင့် လည်းကောင်း၊ မွေးဖွားလာသူများ ဖြစ်သည်။",),
    "Khmer": ("មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។",),
    "Georgian": (
        "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
        "მათ მინიჭებული აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა იქცეოდნენ ძმობის სულისკვეთებით.",
    ),
    "Armenian": (
        "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
        "Նրանք ունեն բանականություն ու խիղճ և միմյանց պետք է եղբայրաբար վերաբերվեն։",
    ),
    "Amharic": (
        "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
        "የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።",
    ),
    "Chinese": (
        "人人生而自由，在尊严和权利上一律平等。",
        "他们赋有理性和良心，并应以兄弟关系的精神相对待。",
        "数据库连接已经关闭，请检查网络设置后再试一次。",
        "合作社的会议一直开到深夜，因为会议记录不得不多次修改。",
    ),
    "Chinese, traditional": (
        "人人生而自由，在尊嚴和權利上一律平等。",
        "他們賦有理性和良心，並應以兄弟關係的精神相對待。",
        "資料庫連線已經關閉，請檢查網路設定後再試一次。",
    ),
    "Japanese": (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
        "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
        "データベースへの接続が切断されました。ネットワークの設定を確認して、もう一度お試しください。",
    ),
    "Korean": (
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
        "인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
        "데이터베이스 연결이 종료되었습니다. 네트워크 설정을 확인한 뒤 다시 시도하십시오.",
    ),
}
