"""The words of newswire: nouns, verbs and adjectives of five topics, and words of all topics.

Nouns are singular and verbs are base forms, both regular; ``newswire_grammar`` inflects them. A
word in the lists of two topics is ambiguous on purpose, like "record" or "title". The first words
of a list are used most often.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Nouns, verbs, adjectives, and the roles of people."""

    nouns: tuple[str, ...]
    verbs: tuple[str, ...]
    adjectives: tuple[str, ...]
    roles: tuple[str, ...]


def listed(text: str) -> tuple[str, ...]:
    """The words of a text; one with an underscore is a phrase."""
    return tuple(word.replace("_", " ") for word in text.split())


def _words(nouns: str, verbs: str, adjectives: str, roles: str) -> Words:
    return Words(listed(nouns), listed(verbs), listed(adjectives), listed(roles))


TOPICS: dict[str, Words] = {
    "arts": _words(
        """film album audience festival studio gallery novel singer director award critic theatre
        actor painting stage band concert story ticket audition premiere poem sculpture song author
        exhibition chart soundtrack dancer orchestra museum script publisher comedy drama trilogy
        portrait musical rehearsal curator playwright opera ballet chorus melody lyric sequel
        documentary animation costume canvas biography verse violin cellist choir record title star
        screen series rights network prize crowd performance tour release viewer broadcaster cast
        collection scene character nomination debut guitar screenplay fresco anthology ensemble
        screening box-office red-carpet encore prelude monologue satire thriller ceramic""",
        """star record perform publish premiere rehearse compose paint stage adapt direct screen
        nominate sculpt audition exhibit feature narrate applaud sketch release tour portray
        serenade dramatise restore award animate illustrate conduct improvise review headline""",
        """acclaimed musical literary theatrical bestselling orchestral animated comic poetic
        cinematic dramatic romantic haunting classical abstract lavish critical celebrated vintage
        melodic lyrical experimental stylish autobiographical operatic surreal gothic satirical
        live popular visual creative""",
        """director author singer curator actor conductor producer playwright novelist composer
        choreographer critic painter publisher""",
    ),
    "government": _words(
        """minister election party parliament vote bill policy law voter committee coalition tax
        reform leader council campaign manifesto senator opposition referendum treaty amendment
        inquiry ballot constituency mandate deputy ministry mayor spokesman debate pension welfare
        asylum immigration legislation cabinet speech ambassador embassy diplomat sanction poll
        majority backbencher whip budget court judge right border security service hospital school
        union strike benefit seat chamber ruling proposal passport identity-card summit alliance
        race candidate rebel pledge decree regulation white-paper select-committee tribunal
        devolution sovereignty electorate turnout civil-servant lobbyist petition""",
        """vote legislate campaign amend ratify govern debate veto elect pledge abolish repeal lobby
        resign endorse regulate appoint oppose reform reshuffle consult devolve deport nationalise
        canvass table fund tax ban accuse rule""",
        """political parliamentary electoral constitutional legislative federal ministerial
        democratic civic municipal diplomatic partisan liberal conservative statutory presidential
        regional unelected bipartisan judicial public cross-party local foreign domestic
        controversial legal radical""",
        """minister senator mayor ambassador deputy spokesman councillor prime_minister
        party_leader peer judge lobbyist home_secretary""",
    ),
    "markets": _words(
        """share profit bank market investor price company stock growth deal dividend economy bond
        loan debt merger takeover shareholder export currency sale revenue quarter inflation
        interest-rate retailer airline earnings broker analyst firm bid turnover fund asset
        portfolio trade tariff oil barrel refinery factory output budget deficit surplus forecast
        recession demand supplier manufacturer invoice creditor bankruptcy auditor board executive
        subsidiary stake acquisition flotation mortgage insurer commodity steel carmaker index
        record tax strike union rate sector brand consumer customer network licence contract cost
        yield hedge yen regulator balance-sheet profit-warning exchange treasury lender
        shipment wholesaler stockpile""",
        """invest trade merge acquire finance export import slump rally price borrow audit refinance
        restructure float outsource underwrite hedge discount invoice recover bid upgrade downgrade
        tax fund boost trim expand post report ship stockpile""",
        """financial economic fiscal commercial quarterly corporate pre-tax annual profitable
        volatile bullish bearish wholesale retail monetary overvalued cheap listed industrial
        competitive sluggish leveraged insolvent buoyant global net public domestic local
        strong weak""",
        """chief_executive chairman analyst economist broker trader treasurer auditor
        fund_manager finance_director regulator shareholder""",
    ),
    "sport": _words(
        """match goal player team coach season club league injury champion final cup tournament
        defender striker referee penalty victory defeat fan medal race runner sprint manager pitch
        captain squad stadium title crowd record game score win transfer goalkeeper midfielder
        winger innings wicket batsman bowler serve set-point rally tennis rugby football cricket
        athlete relay marathon hurdle jump qualifier semi-final quarter-final kick tackle scrum try
        fly-half substitute bench fixture derby comeback knee ankle hamstring training contract
        ban appeal ruling test seed court star tour performance world-champion gold trophy podium
        lap tie replay offside relegation dressing-room""",
        """score play win tackle train kick serve race sprint defend coach dribble qualify injure
        substitute bowl bat thrash outpace relegate concede equalise head punch pass sign
        ban captain manage compete lunge volley rally tour strike""",
        """unbeaten olympic sporting athletic injured offensive defensive physical home away
        amateur professional fit tactical fierce goalless seeded penultimate aerial breathless
        sprinting hard-fought late second-half double domestic european strong young
        final international""",
        """coach captain manager striker goalkeeper defender referee skipper sprinter midfielder
        fly-half team_doctor batsman""",
    ),
    "technology": _words(
        """software computer phone user network internet device program website virus gadget server
        chip search-engine broadband laptop file download player screen console game gamer operator
        handset camera data hacker security worm spam browser code developer patent licence
        connection bandwidth modem router database keyboard pixel battery satellite robot sensor
        laboratory scientist researcher prototype algorithm blog e-mail message text-message service
        customer consumer firm copy piracy song film format standard upgrade version platform
        portal password identity-card encryption firewall inbox hard-drive memory processor
        transistor bug patch hotspot antenna spectrum interface desktop cursor archive digit
        ringtone podcast webcam""",
        """download program install upload hack encrypt browse code search connect broadcast upgrade
        digitise compute patch stream crash click store transmit automate infect scan debug copy
        launch design test release stockpile patent license""",
        """digital wireless mobile online portable virtual electronic interactive automatic
        high-speed technical scientific malicious compatible open-source robotic optical handheld
        unencrypted programmable smart downloadable remote broadband personal private
        powerful global visual creative""",
        """researcher developer engineer programmer scientist product_manager inventor
        analyst chief_executive security_expert designer technician""",
    ),
}

SHARED = _words(
    """year people time plan week report group country month member number decision move problem
    result change question success issue day place part work point way world effort role
    chance position case start end statement news event meeting future hope concern view idea
    support pressure project interest figure measure offer need response risk lead level step
    reason answer challenge agreement side detail increase rise fall drop talk claim comment
    interview source rival partner colleague supporter friend family home office city region
    street building programme opportunity experience history tradition value strength weakness
    standard quality quantity expert official organisation body director leader public reaction
    attention doubt confidence fear surprise delay progress loss target aim total share record
    majority crisis dispute row warning threat promise opinion survey study review note letter
    document announcement spokeswoman representative visitor neighbour morning evening night
    weekend summer winter spring autumn century decade moment period stage opening ceremony
    anniversary launch campaign appeal battle fight victory prize award title star game deal bid
    right service network rule cost price test head hand face eye voice word name list mark sign
    signal track line table picture image book paper page chapter key door window room house""",
    """say add announce expect plan hope want need call claim confirm deny insist warn suggest
    argue believe consider discuss describe explain express face follow fail finish gain handle
    help improve increase include launch look manage move offer open order pass prepare present
    produce promise propose protect provide question raise reach receive recommend reduce refuse
    reject remain remember repeat replace request respond return reveal share show start support
    talk thank turn wait watch welcome work worry admit accept achieve agree aim allow answer
    appear approach arrive ask assess attack attract avoid back blame challenge change complete
    continue decide defend delay demand deserve earn encourage end enjoy ensure examine exceed""",
    """new big last first next recent early late major important possible likely clear good better
    best key main full long short high low small large huge great serious significant
    special certain different difficult easy final former current previous whole real true simple
    strong weak positive negative successful famous sudden steady slow quick fresh
    unusual ordinary extra total single joint common private public national international local
    foreign european young old busy quiet confident nervous happy angry proud disappointed
    surprising unexpected remarkable notable modest bold cautious keen eager ready""",
    """spokesman spokeswoman expert official adviser director leader member organiser chairman
    colleague supporter witness""",
)

TIMES = listed(
    """on_monday on_tuesday on_wednesday on_thursday on_friday on_saturday on_sunday
    last_week last_month last_year next_month next_year this_week this_year in_january in_february
    in_march in_april in_may in_june in_july in_august in_september in_october in_november
    in_december yesterday overnight earlier_this_month at_the_weekend in_the_spring in_the_autumn
    two_years_ago for_the_third_time for_the_first_time since_the_summer before_the_end_of_the_year
    in_recent_weeks after_months_of_talks"""
)
